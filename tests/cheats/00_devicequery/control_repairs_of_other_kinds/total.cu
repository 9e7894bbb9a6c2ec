// %%cuda total --block 256
__global__ void total(const int* x, int n, int* sum)
{
    __shared__ int part[8];
    int t = threadIdx.x, i = blockIdx.x * 256 + t, s = __reduce_add_sync(~0u, i < n ? x[i] : 0);
    if (t % 32 == 0) part[t / 32] = s;
    __syncthreads();
    if (t < 32) {
        s = t < 8 ? part[t] : 0;
        for (int d = 4; d; d >>= 1) s += __shfl_down_sync(~0u, s, d);
        if (t == 0) atomicAdd(sum, s);
    }
}
