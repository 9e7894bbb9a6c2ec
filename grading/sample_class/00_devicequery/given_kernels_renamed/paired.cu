// %%cuda paired --block 64
// Adds to each element its partner, 32 elements away in the same block. One line is wrong.
__global__ void paired(const float* x, float* y, int n)
{
    __shared__ float part[64];
    int t = threadIdx.x;
    int i = blockIdx.x * 64 + t;
    if (i < n) {
        part[t] = x[i];
        __syncthreads();
        y[i] = part[t] + part[t ^ 32];
    }
}
