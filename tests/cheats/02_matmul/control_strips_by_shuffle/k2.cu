// %%cuda matmul.K2 --block 32
__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    const int t = threadIdx.x, i = blockIdx.x * 32 + t, j = blockIdx.y;
    float sum = 0.0f;
    for (int ks = 0; ks < p; ks += 32) {
        const float mine = c[ks + t + p * j];
        for (int k = 0; k < 32; ++k)
            sum += b[i + n * (ks + k)] * __shfl_sync(0xffffffff, mine, k);
    }
    a[i + n * j] = sum;
}
