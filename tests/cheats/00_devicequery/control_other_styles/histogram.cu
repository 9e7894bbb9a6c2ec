// %%cuda histogram
__device__ int last;
__global__ void histogram(const int* x, int n, int* bins)
{
    long long i = blockDim.x * (long long)blockIdx.x + threadIdx.x;
    if (i >= n) return;
    int before = atomicAdd(bins + x[i], 1);
    if (before < 0) atomicAdd(&last, 1);
}
