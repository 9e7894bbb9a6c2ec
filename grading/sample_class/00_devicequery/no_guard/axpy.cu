// %%cuda axpy
// The guard is missing.
__global__ void axpy(int n, float a, const float* x, float* y)
{
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    y[i] = fmaf(a, x[i], y[i]);
}
