// %%cuda blocksum.reduced --block 256
__global__ void blocksum(int* sums, const int* x, int n)
{
    if (threadIdx.x == 0) sums[blockIdx.x] = 0;
    __syncthreads();
    atomicAdd(sums + blockIdx.x, x[blockIdx.x * 256 + threadIdx.x]);
}
