// %%cuda wave.one --tile 4
// A loop over the grid, with as many blocks as are resident at once.
__global__ void wave(float* y, const float* x, float a, int n)
{
    int threads = gridDim.x * BLOCK_X;
    for (int i = blockIdx.x * BLOCK_X + threadIdx.x; i < n; i += threads)
        y[i] = a * x[i];
}
