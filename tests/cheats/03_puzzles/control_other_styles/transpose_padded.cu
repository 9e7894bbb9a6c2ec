// %%cuda transpose.padded --block 32 4 --tile 1 8
#define AT(r, c) tile[(r) * 32 + (((c) + (r)) & 31)]
__global__ void transpose(float* b, const float* a, int nx, int ny)
{
    __shared__ float tile[32 * 32];
    int x0 = 32 * blockIdx.x, y0 = 32 * blockIdx.y, t = threadIdx.x;
    #pragma unroll
    for (int r = threadIdx.y; r < 32; r += BLOCK_Y) AT(r, t) = a[(y0 + r) * nx + x0 + t];
    __syncthreads();
    #pragma unroll
    for (int r = threadIdx.y; r < 32; r += BLOCK_Y) b[(x0 + r) * ny + y0 + t] = AT(t, r);
}
