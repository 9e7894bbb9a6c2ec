// %%cuda transpose.padded --block 32 32
__global__ void transpose(float* b, const float* a, int nx, int ny)
{
    __shared__ float tile[32][32];
    __shared__ float idle[32][32];
    int x = blockIdx.x * 32, y = blockIdx.y * 32;
    int tx = threadIdx.x, ty = threadIdx.y;
    volatile float* s = &idle[ty][tx];
    for (int k = 0; k < 10; ++k) *s = 0.0f;
    tile[ty][tx] = a[(y + ty) * nx + x + tx];
    __syncthreads();
    b[(x + ty) * ny + y + tx] = tile[tx][ty];
}
