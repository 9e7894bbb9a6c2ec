// %%cuda paired --block 64
__global__ void paired(const float* x, float* y, int n)
{
    __shared__ float part[64];
    int t = threadIdx.x, i = blockIdx.x * 64 + t, o = i ^ 32;
    part[t] = 1.0f; __syncthreads();
    if (i < n) y[i] = x[i] + (o < n ? x[o] * part[t ^ 1] : 0.0f);
}

