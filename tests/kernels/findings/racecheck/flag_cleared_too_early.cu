// %%cuda flag_cleared_too_early
// Fault, line 9: some warps may not have read the flag of the previous iteration.
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
