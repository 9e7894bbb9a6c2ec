// %%cuda transpose.tiled --block 32 32
__global__ void transpose(float* b, const float* a, int nx, int ny)
{
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    atomicExch(b + x * ny + y, a[y * nx + x]);
}
