// %%cuda copy_padded_with_zeros
// The array ends inside the last 16 bytes: three floats are not read but filled with zeros.
#include <cuda_pipeline.h>

extern "C" __global__ void mirror(const float4* x, float* out, int n)
{
    __shared__ float4 s[16];
    int t = threadIdx.x, there = min(max(n - 4 * t, 0), 4);
    __pipeline_memcpy_async(&s[t], &x[t], 16, 16 - 4 * there);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncwarp(0x0000ffffu);
    for (int k = 0; k < 4; ++k) out[4 * t + k] = ((float*)s)[63 - (4 * t + k)];
}
