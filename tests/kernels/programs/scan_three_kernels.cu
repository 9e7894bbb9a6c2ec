// %%cuda scan_three_kernels
// A long scan in three launches: each block's own, the scan of the blocks' sums, and adding them back.
__device__ int scan_of_warp(int v, int lane)
{
    for (int d = 1; d < 32; d *= 2) {
        int below = __shfl_up_sync(0xffffffffu, v, d);
        if (lane >= d) v += below;
    }
    return v;
}

extern "C" __global__ void scan_blocks(const int* in, int* out, int* sums, int n)
{
    __shared__ int warps[8];
    int i = blockIdx.x * 256 + threadIdx.x, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    int v = scan_of_warp(i < n ? in[i] : 0, lane);
    if (lane == 31) warps[warp] = v;
    __syncthreads();
    for (int w = 0; w < warp; ++w) v += warps[w];
    if (i < n) out[i] = v;
    if (threadIdx.x == 255) sums[blockIdx.x] = v;
}

extern "C" __global__ void scan_sums(int* sums, int blocks)
{
    int lane = threadIdx.x, before = 0;
    for (int first = 0; first < blocks; first += 32) {
        int i = first + lane;
        int v = before + scan_of_warp(i < blocks ? sums[i] : 0, lane);
        if (i < blocks) sums[i] = v;
        before = __shfl_sync(0xffffffffu, v, 31);
    }
}

extern "C" __global__ void add_sums(int* out, const int* sums, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (blockIdx.x > 0 && i < n) out[i] += sums[blockIdx.x - 1];
}
