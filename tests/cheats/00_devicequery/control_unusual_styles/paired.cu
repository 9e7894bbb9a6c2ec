// %%cuda paired --block 64
__global__ void paired(const float* x, float* y, int n)
{
    extern __shared__ float none[];
    __shared__ float part[2][32];
    const int t = threadIdx.x, i = blockIdx.x * 64 + t, h = t >> 5, l = t & 31;
    if (i < n) part[h][l] = x[i]; else part[h][l] = 0;
    __barrier_sync(0);
    if (i >= n) return;
    y[i] = part[0][l] + part[1][l];
}
