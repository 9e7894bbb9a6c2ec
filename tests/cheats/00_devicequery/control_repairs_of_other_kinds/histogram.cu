// %%cuda histogram
__global__ void histogram(const int* x, int n, int* bins)
{
    __shared__ int own[4][16];
    int t = threadIdx.x, warp = t / 32;
    if (t < 64) own[t / 16][t % 16] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) atomicAdd_block(&own[warp][x[i]], 1);
    __syncthreads();
    if (t < 16) { int s = own[0][t] + own[1][t] + own[2][t] + own[3][t]; if (s) atomicAdd(bins + t, s); }
}
