// %%cuda coalesced
__global__ void coalesced(const float* x, float* y, int n)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    for (const float *p = x + t, *end = x + n; p < end; p += threads) y[p - x] = *p + *p;
}
