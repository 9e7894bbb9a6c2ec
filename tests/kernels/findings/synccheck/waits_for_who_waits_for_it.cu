// %%cuda waits_for_who_waits_for_it
// Fault, line 9: the flag is set behind the barrier at which the spinning warp is missing.
extern "C" __global__ void wait(const int* x, int* out)
{
    __shared__ volatile int ready;
    if (threadIdx.x == 0) ready = 0;
    __syncthreads();
    if (threadIdx.x >= 32)
        while (ready == 0) { }
    __syncthreads();
    if (threadIdx.x == 0) ready = 1;
    out[threadIdx.x] = x[threadIdx.x];
}
