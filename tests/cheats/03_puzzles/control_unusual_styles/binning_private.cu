// %%cuda binning.private --block 128
__global__ void binning(int* counts, const int* x, int n, int bins)
{
    __shared__ int own[4][64];
    int t = threadIdx.x, w = t / 32, i = blockIdx.x * BLOCK_X + t;
    for (int k = t; k < 256; k += BLOCK_X) own[k / 64][k % 64] = 0;
    __syncthreads();
    if (i < n) atomicAdd_block(&own[w][x[i]], 1);
    __syncthreads();
    for (int k = t; k < bins; k += BLOCK_X) { int c = own[0][k] + own[1][k] + own[2][k] + own[3][k]; if (c) atomicAdd(counts + k, c); }
}
