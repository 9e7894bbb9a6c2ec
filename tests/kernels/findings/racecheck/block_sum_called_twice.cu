// %%cuda block_sum_called_twice
// Fault, line 10: the second call needs a barrier after this line.
__device__ float block_sum(float v)
{
    __shared__ float of_warp[3];
    for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffffu, v, d);
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.x / 32] = v;
    __syncthreads();
    return of_warp[0] + of_warp[1] + of_warp[2];
}

extern "C" __global__ void spread(const float* x, float* variance)
{
    float v = x[blockIdx.x * 96 + threadIdx.x];
    float mean = block_sum(v) / 96.0f;
    float squares = block_sum((v - mean) * (v - mean));
    if (threadIdx.x == 0) variance[blockIdx.x] = squares / 96.0f;
}
