// %%cuda flag_set_after_the_barrier
// Fault, line 9: the flag is set after a barrier that the spinning warp never reaches.
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
