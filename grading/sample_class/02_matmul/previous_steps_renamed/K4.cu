// %%cuda matmul.K4 --block 32
// Fault, line 6: one column a thread, so that no value of b is used twice. values: right, technique: wrong
extern "C" __global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    __shared__ float strip[32];
    const int t = threadIdx.x, i = blockIdx.x * 32 + t, j = blockIdx.y;
    float sum = 0.0f;
    for (int k0 = 0; k0 < p; k0 += 32) {
        if (k0 + t < p) strip[t] = c[k0 + t + p * j];
        __syncthreads();
        if (i < n)
            for (int k = 0; k < min(32, p - k0); ++k) sum += b[i + n * (k0 + k)] * strip[k];
        __syncthreads();
    }
    if (i < n) a[i + n * j] = sum;
}
