// %%cuda matmul.K4 --block 64 --tile 1 2
// K4: two columns a thread, so that each value of b is used twice; two strips of c.
extern "C" __global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    __shared__ float left[BLOCK_X], right[BLOCK_X];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK_X + t, j = 2 * blockIdx.y;
    const bool second = j + 1 < m;
    float sum0 = 0.0f, sum1 = 0.0f;
    for (int k0 = 0; k0 < p; k0 += BLOCK_X) {
        const bool inside = k0 + t < p;
        left[t] = inside ? c[k0 + t + p * j] : 0.0f;
        right[t] = inside && second ? c[k0 + t + p * (j + 1)] : 0.0f;
        __syncthreads();
        if (i < n)
            for (int k = 0; k < BLOCK_X && k0 + k < p; ++k) {
                const float value = b[i + n * (k0 + k)];
                sum0 += value * left[k];
                sum1 += value * right[k];
            }
        __syncthreads();
    }
    if (i < n) a[i + n * j] = sum0;
    if (i < n && second) a[i + n * (j + 1)] = sum1;
}
