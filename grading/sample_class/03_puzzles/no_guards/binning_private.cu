// %%cuda binning.private
// Each block counts in shared memory, then adds its counts to those of the grid.
__global__ void binning(int* counts, const int* x, int n, int bins)
{
    __shared__ int own[64];                          // the counts of this block
    int t = threadIdx.x, i = blockIdx.x * BLOCK_X + t;
    if (t < 64)
        own[t] = 0;
    __syncthreads();
        atomicAdd(&own[x[i]], 1);
    __syncthreads();
    if (t < 64)
        atomicAdd(&counts[t], own[t]);
}
