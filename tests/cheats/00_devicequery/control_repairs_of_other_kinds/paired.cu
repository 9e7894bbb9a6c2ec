// %%cuda paired --block 64
__global__ void paired(const float* x, float* y, int n)
{
    __shared__ float low[32], high[32];
    int t = threadIdx.x, lane = t % 32, i = blockIdx.x * 64 + t;
    float mine = 0.0f;
    if (i < n) mine = x[i];
    (t < 32 ? low : high)[lane] = mine;
    __syncthreads();
    if (i >= n) return;
    y[i] = mine + (t < 32 ? high : low)[lane];
}
