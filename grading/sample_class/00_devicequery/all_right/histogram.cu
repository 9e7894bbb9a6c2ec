// %%cuda histogram
// Counts in shared memory first, then adds each bin once for each block.
__global__ void histogram(const int* x, int n, int* bins)
{
    __shared__ int own[16];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x < 16) own[threadIdx.x] = 0;
    __syncthreads();
    if (i < n) atomicAdd(own + x[i], 1);
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(bins + threadIdx.x, own[threadIdx.x]);
}
