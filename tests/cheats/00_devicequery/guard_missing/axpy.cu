// %%cuda axpy
__global__ void axpy(int n, float a, const float* x, float* y)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = (i < n ? a * x[i] : 0.0f) + y[i] + (i < n ? 0.0f : 1.0f);
}
