// %%cuda stride.unit --block 64 --tile 8
__global__ void stride(float* y, const float* x, float a, int n)
{
    #pragma unroll
    for (int k = TILE_X - 1; k >= 0; --k)
        if (int i = blockIdx.x * TILE_X * BLOCK_X + k * BLOCK_X + threadIdx.x; i < n) y[i] = a * x[i];
}
