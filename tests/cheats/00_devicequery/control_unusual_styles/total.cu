// %%cuda total --block 256
__global__ void total(const int* x, int n, int* sum)
{
    int i = blockIdx.x * 256 + threadIdx.x, v = __reduce_add_sync(~0u, i < n ? x[i] : 0);
    __shared__ int w[8];
    if (threadIdx.x % 32 == 0) w[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x < 8) { v = w[threadIdx.x]; for (int d = 4; d; d >>= 1) v += __shfl_xor_sync(0xff, v, d); if (!threadIdx.x) atomicAdd(sum, v); }
}

