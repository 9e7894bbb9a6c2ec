// %%cuda histogram
// Changes from lost: each update is one atomic operation.
__global__ void histogram(const int* x, int n, int* bins)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(&bins[x[i]], 1);
}
