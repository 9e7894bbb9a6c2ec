// %%cuda warpsum.shuffle --block 64
__device__ int warp_sum(int v) { return v; }
template <class... Rest> __device__ int warp_sum(int v, int distance, Rest... rest)
{
    return warp_sum(v + __shfl_down_sync(0xffffffffu, v, distance), rest...);
}
__global__ void warpsum(int* sums, const int* x, int n)
{
    const int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i < n) { const int s = warp_sum(x[i], 16, 8, 4, 2, 1); if (!(threadIdx.x & 31)) sums[i >> 5] = s; }
}
