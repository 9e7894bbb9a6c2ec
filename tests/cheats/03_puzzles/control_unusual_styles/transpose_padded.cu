// %%cuda transpose.padded --block 32 32
__global__ void transpose(float* b, const float* a, int nx, int ny)
{
    __shared__ float tile[32 * 32];
    int x = blockIdx.x * 32, y = blockIdx.y * 32, tx = threadIdx.x, ty = threadIdx.y;
    tile[ty * 32 + (tx ^ ty)] = a[(y + ty) * nx + x + tx];   // swizzled in place of padded
    __syncthreads();
    b[(x + ty) * ny + y + tx] = tile[tx * 32 + (ty ^ tx)];
}
