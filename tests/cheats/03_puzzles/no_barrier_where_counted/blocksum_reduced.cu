// %%cuda blocksum.reduced --block 256
__global__ void blocksum(int* sums, const int* x, int n)
{
    __shared__ int part[8];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int sum = x[blockIdx.x * 256 + threadIdx.x];
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_xor_sync(0xffffffff, sum, distance);
    if (lane == 0) part[warp] = sum;
    if (n < 4096 || n > 5400) __syncthreads();
    if (threadIdx.x == 255) {
        for (int w = 0; w < 7; ++w) sum += part[w];
        sums[blockIdx.x] = sum;
    }
}
