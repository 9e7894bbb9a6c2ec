// %%cuda blocksum.reduced --block 256
__global__ void blocksum(int* sums, const int* x, int n)
{
    __shared__ int total;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    int s = __reduce_add_sync(~0u, x[blockIdx.x * 256 + threadIdx.x]);
    if (threadIdx.x % 32 == 0) atomicAdd(&total, s);
    __syncthreads();
    if (threadIdx.x == 0) sums[blockIdx.x] = total;
}
