// %%cuda transpose.tiled --block 32 32
__device__ float scratch[1 << 20];
__global__ void transpose(float* b, const float* a, int nx, int ny)
{
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    volatile float* s = scratch + (y * nx + x) % (1 << 20);
    float v = a[y * nx + x];
    for (int k = 0; k < 8; ++k) *s = v;
    b[x * ny + y] = v;
}
