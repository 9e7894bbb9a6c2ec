// %%cuda reduction_without_barriers
// Fault, line 10: each step reads results of the previous step, also of other warps.
extern "C" __global__ void reduce(const float* x, float* sums)
{
    __shared__ float s[128];
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * 128 + t];
    __syncthreads();
    for (int h = 64; h > 0; h /= 2)
        if (t < h) s[t] += s[t + h];
    if (t == 0) sums[blockIdx.x] = s[0];
}
