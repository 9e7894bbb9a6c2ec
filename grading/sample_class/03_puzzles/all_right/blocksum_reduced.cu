// %%cuda blocksum.reduced --block 256
// Each warp adds its elements, then one warp adds the sums of the warps.
__global__ void blocksum(int* sums, const int* x, int n)
{
    __shared__ int part[256];
    part[threadIdx.x] = x[blockIdx.x * 256 + threadIdx.x];
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        sums[blockIdx.x] = part[0];
}
