// %%cuda scan_chained
// Prefix sums by shuffles in one launch: each block waits for the sum of all before it, and passes its own on.
__device__ long long scan_warp(long long v)
{
    const int lane = threadIdx.x & 31;
#pragma unroll
    for (int d = 1; d < 32; d <<= 1) {
        const long long below = __shfl_up_sync(~0u, v, d);
        if (lane >= d) v += below;
    }
    return v;
}

extern "C" __global__ void scan(const int* in, long long* out, long long* carry, int* ready, int* begun, int n)
{
    __shared__ long long warp_sum[32], before;
    __shared__ int block;
    const int t = threadIdx.x, warp = t / 32, warps = blockDim.x / 32;
    if (t == 0) block = atomicAdd(begun, 1);   // in the order in which blocks begin
    __syncthreads();
    const int i = block * blockDim.x + t;
    long long v = scan_warp(i < n ? in[i] : 0);
    if (t % 32 == 31) warp_sum[warp] = v;
    __syncthreads();
    if (warp == 0) {
        const long long sums = scan_warp(t < warps ? warp_sum[t] : 0);
        warp_sum[t] = sums;
        if (t == warps - 1) {
            long long sum = 0;
            if (block > 0) {
                while (atomicAdd(&ready[block - 1], 0) == 0) { }
                __threadfence();
                sum = ((volatile long long*)carry)[block - 1];
            }
            before = sum;
            carry[block] = sum + sums;
            __threadfence();
            atomicExch(&ready[block], 1);
        }
    }
    __syncthreads();
    if (i < n) out[i] = before + v + (warp > 0 ? warp_sum[warp - 1] : 0);
}
