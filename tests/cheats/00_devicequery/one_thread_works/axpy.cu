// %%cuda axpy
__global__ void axpy(int n, float a, const float* x, float* y)
{
    if (threadIdx.x == 0 && blockIdx.x == 0) for (int i = 0; i < n; ++i) y[i] = a * x[i] + y[i];
}
