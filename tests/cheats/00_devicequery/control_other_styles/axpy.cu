// %%cuda axpy
__global__ void axpy(int n, float a, const float* __restrict__ x, float* __restrict__ y)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x, end = n; i < end; i += (size_t)blockDim.x * gridDim.x)
        y[i] = __fmaf_rn(a, x[i], y[i]);
}
