// %%cuda coalesced
__global__ void coalesced(const float* __restrict__ x, float* __restrict__ y, int n)
{
    const float* end = x + n; const ptrdiff_t step = (ptrdiff_t)gridDim.x * blockDim.x;
    float* out = y + (blockIdx.x * blockDim.x + threadIdx.x);
    for (const float* p = x + (out - y); p < end; p += step, out += step) *out = __fmul_rn(*p, 2.f);
}
