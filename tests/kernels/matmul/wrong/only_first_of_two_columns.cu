// %%cuda matmul.K4 --block 32 --tile 1 2
// Fault, line 19: the second column is summed and never stored.
extern "C" __global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    __shared__ float strip[2][32];
    const int t = threadIdx.x, i = blockIdx.x * 32 + t, j = 2 * blockIdx.y;
    float sum0 = 0.0f, sum1 = 0.0f;
    for (int k0 = 0; k0 < p; k0 += 32) {
        strip[0][t] = k0 + t < p ? c[k0 + t + p * j] : 0.0f;
        strip[1][t] = k0 + t < p && j + 1 < m ? c[k0 + t + p * (j + 1)] : 0.0f;
        __syncthreads();
        if (i < n)
            for (int k = 0; k < min(32, p - k0); ++k) {
                sum0 += b[i + n * (k0 + k)] * strip[0][k];
                sum1 += b[i + n * (k0 + k)] * strip[1][k];
            }
        __syncthreads();
    }
    if (i < n) a[i + n * j] = sum0;
}
