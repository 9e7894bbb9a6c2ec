// %%cuda matmul.K5 --block 16 16
// K5: the next pair of tiles is fetched into registers while this one is used; two buffers, one barrier a step.
#define T 16
__global__ void mmkernel(float* __restrict__ a, const float* __restrict__ b, const float* __restrict__ c,
                         int n, int m, int p)
{
    __shared__ float tiles[2][2][T * T];
    int x = threadIdx.x, y = threadIdx.y, own = y * T + x;
    int i = blockIdx.x * T + x, j = blockIdx.y * T + y, steps = (p + T - 1) / T;
    float nextb = i < n && y < p ? b[i + n * y] : 0.0f, nextc = j < m && x < p ? c[x + p * j] : 0.0f, sum = 0.0f;
    for (int s = 0; s < steps; ++s) {
        float *tb = tiles[s % 2][0], *tc = tiles[s % 2][1];
        tb[own] = nextb;
        tc[own] = nextc;
        __syncthreads();
        int kb = (s + 1) * T + y, kc = (s + 1) * T + x;
        nextb = i < n && kb < p ? b[i + n * kb] : 0.0f;
        nextc = j < m && kc < p ? c[kc + p * j] : 0.0f;
        for (int k = 0; k < T; ++k) sum = __fmaf_rn(tb[k * T + x], tc[y * T + k], sum);
    }
    if (i < n && j < m) a[i + n * j] = sum;
}
