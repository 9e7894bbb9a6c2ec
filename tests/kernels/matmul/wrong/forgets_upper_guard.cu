// %%cuda matmul.K4g --block 32 --tile 1 4
// Fault, line 12: rows past n are summed too, and there is no such row of b. values: may be right
extern "C" __global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    __shared__ float strips[4][32];
    const int t = threadIdx.x, i = blockIdx.x * 32 + t, j = 4 * blockIdx.y;
    float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int k0 = 0; k0 < p; k0 += 32) {
        for (int v = 0; v < 4; ++v) strips[v][t] = k0 + t < p && j + v < m ? c[k0 + t + p * (j + v)] : 0.0f;
        __syncthreads();
        for (int k = 0; k < min(32, p - k0); ++k) {
            const float value = b[i + n * (k0 + k)];
            for (int v = 0; v < 4; ++v) sum[v] += value * strips[v][k];
        }
        __syncthreads();
    }
    for (int v = 0; v < 4; ++v)
        if (i < n && j + v < m) a[i + n * (j + v)] = sum[v];
}
