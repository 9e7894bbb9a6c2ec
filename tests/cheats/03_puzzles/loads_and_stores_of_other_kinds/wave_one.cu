// %%cuda wave.one --block 32 --tile 4
__global__ void wave(float* y, const float* x, float a, int n)
{
    int threads = gridDim.x * BLOCK_X;
    for (int i = blockIdx.x * BLOCK_X + threadIdx.x; i < n; i += threads)
        y[i] = a * x[i];
}
