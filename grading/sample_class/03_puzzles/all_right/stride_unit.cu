// %%cuda stride.unit --tile 4
// Changes from strided: neighbouring threads compute neighbouring elements.
__global__ void stride(float* y, const float* x, float a, int n)
{
    int threads = gridDim.x * BLOCK_X;
    for (int i = blockIdx.x * BLOCK_X + threadIdx.x; i < n; i += threads)
        y[i] = a * x[i];
}
