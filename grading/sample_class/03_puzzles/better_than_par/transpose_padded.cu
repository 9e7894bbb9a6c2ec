// %%cuda transpose.padded --block 32 32
// Changes from tiled: no bank conflicts.
__global__ void transpose(float* b, const float* a, int nx, int ny)
{
    int x = blockIdx.x * 32, y = blockIdx.y * 32;
    int tx = threadIdx.x, ty = threadIdx.y;
    __shared__ float tile[32][33];
    tile[ty][tx] = a[(y + ty) * nx + x + tx];
    __syncthreads();
    b[(x + ty) * ny + y + tx] = tile[tx][ty];
}
