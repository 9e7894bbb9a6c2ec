// %%cuda matmul.K2 --block 128
// Fault, line 12: the strip is used without waiting for the other warps' part of it. values: may be right
extern "C" __global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    __shared__ float strip[128];
    const int t = threadIdx.x, i = blockIdx.x * 128 + t, j = blockIdx.y;
    float sum = 0.0f;
    for (int k0 = 0; k0 < p; k0 += 128) {
        strip[t] = k0 + t < p ? c[k0 + t + p * j] : 0.0f;
        if (i < n)
            for (int k = 0; k < min(128, p - k0); ++k)
                sum += b[i + n * (k0 + k)] * strip[k];
        __syncthreads();
    }
    if (i < n) a[i + n * j] = sum;
}
