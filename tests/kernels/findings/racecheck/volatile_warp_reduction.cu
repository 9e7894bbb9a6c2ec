// %%cuda volatile_warp_reduction
// Fault, line 11: volatile orders the accesses of a thread, but the lanes may still diverge.
extern "C" __global__ void reduce(const int* x, int* sums)
{
    __shared__ int cells[64];
    volatile int* s = cells;
    int t = threadIdx.x, base = blockIdx.x * 64;
    s[t] = x[base + t];
    s[t + 32] = x[base + t + 32];
    s[t] += s[t + 32];
    s[t] += s[t + 16];
    s[t] += s[t + 8];
    s[t] += s[t + 4];
    s[t] += s[t + 2];
    s[t] += s[t + 1];
    if (t == 0) sums[blockIdx.x] = s[0];
}
