// %%cuda blocksum.reduced --block 256
__global__ void blocksum(int* sums, const int* x, int n)
{
    __shared__ int total;
    if (!threadIdx.x) total = 0;
    __syncthreads();
    int own = __reduce_add_sync(~0u, x[blockDim.x * blockIdx.x + threadIdx.x]);
    if ((threadIdx.x & 31) == 5) atomicAdd(&total, own);
    __syncthreads();
    if (threadIdx.x == 77) sums[blockIdx.x] = total;
}
