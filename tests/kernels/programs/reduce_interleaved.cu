// %%cuda reduce_interleaved
// Block sums, first style: a modulo picks the threads that add, so that every warp diverges.
#define THREADS 128
extern "C" __global__ void reduce(const float* x, float* sums, int n)
{
    __shared__ float part[THREADS];
    unsigned t = threadIdx.x, i = blockIdx.x * THREADS + t;
    part[t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (unsigned step = 1; step < THREADS; step *= 2) {
        if (t % (2 * step) == 0) part[t] += part[t + step];
        __syncthreads();
    }
    if (t == 0) sums[blockIdx.x] = part[0];
}
