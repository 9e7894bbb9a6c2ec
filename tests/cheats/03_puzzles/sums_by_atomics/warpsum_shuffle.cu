// %%cuda warpsum.shuffle
__global__ void warpsum(int* sums, const int* x, int n)
{
    int i = blockIdx.x * BLOCK_X + threadIdx.x;
    if (i >= n) return;
    if (i % 32 == 0) sums[i / 32] = 0;
    __syncwarp();
    atomicAdd(sums + i / 32, x[i]);
}
