// %%cuda relax_until_stable
// The smallest value so far moves one element per iteration until nothing changes.
extern "C" __global__ void running_minimum(const int* x, int* out)
{
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    bool changed;
    do {
        int left = t > 0 ? s[t - 1] : s[t];
        changed = left < s[t];
        __syncthreads();
        if (changed) s[t] = left;
    } while (__syncthreads_or(changed));
    out[t] = s[t];
}
