// %%cuda transpose.tiled --block 32 8 --tile 1 4
__global__ void transpose(float* b, const float* a, int nx, int ny)
{
    __shared__ float tile[32 * 32];
    int x0 = 32 * blockIdx.x, y0 = 32 * blockIdx.y;
    for (int r = threadIdx.y; r < 32; r += 8) tile[32 * r + threadIdx.x] = a[(size_t)(y0 + r) * nx + x0 + threadIdx.x];
    __syncthreads();
    for (int r = threadIdx.y; r < 32; r += 8) b[(size_t)(x0 + r) * ny + y0 + threadIdx.x] = tile[32 * threadIdx.x + r];
}
