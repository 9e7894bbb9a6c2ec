// %%cuda last_warp_in_lockstep
// Fault, line 14: the lanes of the warp need a __syncwarp between these lines.
extern "C" __global__ void reduce(const float* x, float* sums)
{
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * 64 + t];
    __syncthreads();
    if (t < 32) {
        s[t] += s[t + 32];
        __syncwarp();
        if (t < 16) s[t] += s[t + 16];
        __syncwarp();
        if (t < 8) s[t] += s[t + 8];
        if (t < 4) s[t] += s[t + 4];
        __syncwarp();
        if (t < 2) s[t] += s[t + 2];
        __syncwarp();
        if (t < 1) sums[blockIdx.x] = s[0] + s[1];
    }
}
