// %%cuda sort_with_a_missing_barrier
// Fault, line 18: the odd round begins before the even round has ended.
__device__ void order(int& a, int& b)
{
    int u = a, v = b;
    a = min(u, v);
    b = max(u, v);
}

extern "C" __global__ void sort(const int* x, int* out)
{
    __shared__ int s[128];
    int t = threadIdx.x;
    s[2 * t] = x[2 * t];
    s[2 * t + 1] = x[2 * t + 1];
    for (int round = 0; round < 64; ++round) {
        __syncthreads();
        order(s[2 * t], s[2 * t + 1]);
        if (t < 63) order(s[2 * t + 1], s[2 * t + 2]);
    }
    __syncthreads();
    out[2 * t] = s[2 * t];
    out[2 * t + 1] = s[2 * t + 1];
}
