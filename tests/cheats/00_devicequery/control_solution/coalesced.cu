// %%cuda coalesced
// Changes from scattered: in each iteration, neighbouring threads access neighbouring elements.
__global__ void coalesced(const float* x, float* y, int n)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int threads = gridDim.x * blockDim.x;
    for (int k = 0; k < n / threads; ++k) {
        int i = k * threads + t;
        y[i] = 2.0f * x[i];
    }
}
