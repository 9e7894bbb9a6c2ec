// %%cuda paired --block 64
__global__ void paired(const float* x, float* y, int n)
{
    __shared__ float part[64];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    if (t < 32) {
        float a = i < n ? x[i] : 0, b = i + 32 < n ? x[i + 32] : 0;
        part[t] = a + b;
        float s = ((volatile float*)part)[t];
        if (i < n) y[i] = s;
        if (i + 32 < n) y[i + 32] = s;
    }
}
