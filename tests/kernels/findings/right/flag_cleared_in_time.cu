// %%cuda flag_cleared_in_time
// Halves all numbers until all are zero; three barriers per iteration.
extern "C" __global__ void longest(const int* x, int* rounds)
{
    __shared__ bool more;
    int v = x[threadIdx.x], count = 0;
    for (;;) {
        if (threadIdx.x == 0) more = false;
        __syncthreads();
        if (v > 0) more = true;
        __syncthreads();
        if (!more) break;
        v /= 2;
        ++count;
        __syncthreads();
    }
    if (threadIdx.x == 0) *rounds = count;
}
