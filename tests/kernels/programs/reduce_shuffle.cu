// %%cuda reduce_shuffle
// Block sums, third style: shuffles in each warp, then one warp sums the warps; one atomic a block.
__inline__ __device__ float warp_sum(float v)
{
    for (int offset = warpSize / 2; offset > 0; offset /= 2) v += __shfl_down_sync(0xffffffff, v, offset);
    return v;
}

__inline__ __device__ float block_sum(float v)
{
    static __shared__ float of_warp[32];
    int lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize;
    v = warp_sum(v);
    if (lane == 0) of_warp[warp] = v;
    __syncthreads();
    v = threadIdx.x < blockDim.x / warpSize ? of_warp[lane] : 0.0f;
    if (warp == 0) v = warp_sum(v);
    return v;
}

extern "C" __global__ void reduce(const float* x, float* total, int n)
{
    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) sum += x[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) atomicAdd(total, sum);
}
