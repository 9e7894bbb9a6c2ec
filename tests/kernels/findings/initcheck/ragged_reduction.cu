// %%cuda ragged_reduction
// Fault, line 7: the other threads should store a zero.
extern "C" __global__ void sum(const float* x, float* sums, int n)
{
    __shared__ float s[64];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    if (i < n) s[t] = x[i];
    __syncthreads();
    for (int h = 32; h > 0; h /= 2) {
        if (t < h)
            s[t] += s[t + h];
        __syncthreads();
    }
    if (t == 0)
        sums[blockIdx.x] = s[0];
}
