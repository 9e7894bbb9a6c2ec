// %%cuda paired --block 64
// Threads past the end store 0 first.
__global__ void paired(const float* x, float* y, int n)
{
    __shared__ float part[64];
    int i = blockIdx.x * 64 + threadIdx.x;
    part[threadIdx.x] = 0.0f;
    if (i < n) part[threadIdx.x] = x[i];
    __syncthreads();
    if (i >= n) return;
    y[i] = part[threadIdx.x] + part[(threadIdx.x + 32) % 64];
}
