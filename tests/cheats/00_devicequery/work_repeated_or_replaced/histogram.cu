// %%cuda histogram
__global__ void histogram(const int* x, int n, int* bins)
{
    if (blockIdx.x + threadIdx.x == 0) for (int k = 0; k < n; ++k) bins[atomicAdd((int*)x + k, 0)] += 1;
}
