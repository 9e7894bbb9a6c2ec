// %%cuda flag_set_back_too_soon
// Fault, line 9: the flag of the round before may not have been read by all.
extern "C" __global__ void longest(const int* x, int* rounds)
{
    __shared__ bool more;
    int v = x[threadIdx.x], count = 0;
    for (int round = 1; round <= 8; ++round) {
        if (threadIdx.x == 0)
            more = false;
        __syncthreads();
        if (v > 0) more = true;
        v /= 2;
        __syncthreads();
        if (more) count = round;
    }
    if (threadIdx.x == 0) *rounds = count;
}
