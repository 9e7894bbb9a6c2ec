// %%cuda axpy
// A loop over the grid instead of a guard.
__global__ void axpy(int n, float a, const float* x, float* y)
{
    for (int i = blockDim.x * blockIdx.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        y[i] = fmaf(a, x[i], y[i]);
}
