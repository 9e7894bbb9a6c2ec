// %%cuda warpsum.shuffle
// The lanes of a warp add their elements; lane 0 writes the sum.
__global__ void warpsum(int* sums, const int* x, int n)
{
    int i = blockIdx.x * BLOCK_X + threadIdx.x;
    if (i >= n)                                      // n is a multiple of 32, so whole warps leave
        return;
    int sum = x[i];
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, distance);
    if (i % 32 == 0)
        sums[i / 32] = sum;
}
