// %%cuda axpy
__global__ void axpy(int n, float a, const float* __restrict__ x, float* __restrict__ y)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) y[i] = fmaf(a, __ldg(&x[i]), y[i]);
}
