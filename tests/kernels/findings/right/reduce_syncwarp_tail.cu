// %%cuda reduce_syncwarp_tail
// A tree reduction: block barriers while several warps work, __syncwarp when one is left.
extern "C" __global__ void reduce(const float* x, float* sums)
{
    __shared__ float s[128];
    unsigned t = threadIdx.x;
    s[t] = x[blockIdx.x * 128 + t];
    __syncthreads();
    if (t < 64) s[t] += s[t + 64];
    __syncthreads();
    if (t < 32)
        for (int h = 32; h > 0; h /= 2) {
            float other = s[t + h];
            __syncwarp();
            s[t] += other;
            __syncwarp();
        }
    if (t == 0) sums[blockIdx.x] = s[0];
}
