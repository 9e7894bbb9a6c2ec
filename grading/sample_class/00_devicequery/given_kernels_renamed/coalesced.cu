// %%cuda coalesced
// Each thread doubles a piece of n / threads neighbouring elements.
__global__ void coalesced(const float* x, float* y, int n)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int threads = gridDim.x * blockDim.x;
    for (int k = 0; k < n / threads; ++k) {
        int i = t * (n / threads) + k;
        y[i] = 2.0f * x[i];
    }
}
