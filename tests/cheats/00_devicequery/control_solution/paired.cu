// %%cuda paired --block 64
// Changes from suspect: all threads of a block reach the barrier.
__global__ void paired(const float* x, float* y, int n)
{
    __shared__ float part[64];
    int t = threadIdx.x;
    int i = blockIdx.x * 64 + t;
    part[t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    if (i < n)
        y[i] = part[t] + part[t ^ 32];
}
