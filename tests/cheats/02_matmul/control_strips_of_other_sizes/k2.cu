// %%cuda matmul.K2 --block 64
__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    const int STRIP = 16;
    __shared__ float strip[2][STRIP];
    int t = threadIdx.x, i = blockIdx.x * BLOCK_X + t, j = blockIdx.y;
    float even = 0, odd = 0;
    for (int ks = 0, w = 0; ks < p; ks += STRIP, w ^= 1) {
        if (t < STRIP) strip[w][t] = c[ks + t + p * j];
        __syncthreads();
        for (int k = 0; k < STRIP; k += 2) {
            even = fmaf(b[i + n * (ks + k)], strip[w][k], even);
            odd = fmaf(b[i + n * (ks + k + 1)], strip[w][k + 1], odd);
        }
    }
    a[i + n * j] = even + odd;
}
