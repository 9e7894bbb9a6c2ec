// %%cuda whole_warps_return
// Fault, line 10: threads without further elements return while the others go on to the barrier.
extern "C" __global__ void sum(const float* x, float* total)
{
    __shared__ float s[128];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    for (int h = 64; h > 0; h /= 2) {
        if (t >= h) return;
        s[t] += s[t + h];
        __syncthreads();
    }
    *total = s[0];
}
