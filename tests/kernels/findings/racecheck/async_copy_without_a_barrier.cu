// %%cuda async_copy_without_a_barrier
// Fault, line 11: a thread waits only for its own copies; a barrier must follow.
#include <cuda_pipeline.h>

extern "C" __global__ void mirror(const float4* x, float* out)
{
    __shared__ float4 s[64];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&s[t], &x[t], sizeof(float4));
    __pipeline_commit();
    __pipeline_wait_prior(0);
    out[t] = s[63 - t].x + s[63 - t].w;
}
