// %%cuda histogram_atomics_and_barriers
// A histogram of bytes: three kinds of access to the same bins, separated by barriers.
extern "C" __global__ void histogram(const unsigned char* data, unsigned* bins, int n)
{
    __shared__ unsigned count[64];
    if (threadIdx.x < 64) count[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&count[data[i]], 1u);
    __syncthreads();
    if (threadIdx.x < 64 && count[threadIdx.x] != 0) atomicAdd(&bins[threadIdx.x], count[threadIdx.x]);
}
