// %%cuda lanes_store_equal_values
// Each warp stores its sum from all lanes, and pairs of lanes store one value to an element of their own.
extern "C" __global__ void sums_and_pairs(const int* x, int* sums, int* pairs)
{
    __shared__ int total[4], half[64];
    int t = threadIdx.x, v = x[t];
    half[t / 2] = v;
    for (int step = 16; step > 0; step /= 2) v += __shfl_xor_sync(~0u, v, step);
    total[t / 32] = v;
    __syncthreads();
    sums[t / 32] = total[t / 32];
    pairs[t / 2] = half[t / 2];
}
