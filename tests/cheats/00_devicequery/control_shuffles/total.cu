// %%cuda total --block 256
__global__ void total(const int* x, int n, int* sum)
{
    __shared__ int of_warp[8];
    const int t = threadIdx.x, i = blockIdx.x * 256 + t;
    int mine = i < n ? x[i] : 0;
    for (int step = 16; step > 0; step /= 2) mine += __shfl_down_sync(0xffffffff, mine, step);
    if (t % 32 == 0) of_warp[t / 32] = mine;
    __syncthreads();
    if (t < 8) {
        mine = of_warp[t];
        for (int step = 4; step > 0; step /= 2) mine += __shfl_down_sync(0xff, mine, step);
        if (t == 0) atomicAdd(sum, mine);
    }
}
