// %%cuda count_of_partial_warps
// Fault, line 8: a barrier counts whole warps, and 40 is no multiple of 32.
extern "C" __global__ void mirror(const int* x, int* out, int n)
{
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = t < n ? x[t] : 0;
    asm volatile("bar.sync 1, %0;" :: "r"(n) : "memory");
    if (t < n) out[t] = s[n - 1 - t];
}
