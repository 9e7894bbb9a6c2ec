// %%cuda paired --block 64
__global__ void paired(const float* x, float* y, int n)
{
    int i = blockIdx.x * 64 + threadIdx.x;
    if (i < n) y[i] = x[i] + ((i ^ 32) < n ? x[i ^ 32] : 0.0f);
}
