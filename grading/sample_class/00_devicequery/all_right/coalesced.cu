// %%cuda coalesced
// A loop with the stride of the grid.
__global__ void coalesced(const float* x, float* y, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = x[i] + x[i];
}
