// %%cuda blocks_add_without_atomics
// Fault, line 8: one thread of each block is still four threads.
extern "C" __global__ void sum(const float* x, float* total)
{
    float v = x[blockIdx.x * 32 + threadIdx.x];
    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);
    if (threadIdx.x == 0)
        *total += v;
}
