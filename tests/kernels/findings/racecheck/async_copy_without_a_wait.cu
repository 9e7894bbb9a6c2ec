// %%cuda async_copy_without_a_wait
// Fault, line 11: the barrier waits for the threads, but not for their copies.
#include <cuda_pipeline.h>

extern "C" __global__ void mirror(const float* x, float* out)
{
    __shared__ float s[64];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&s[t], &x[t], sizeof(float));
    __pipeline_commit();
    __syncthreads();
    out[t] = s[63 - t];
    __pipeline_wait_prior(0);
}
