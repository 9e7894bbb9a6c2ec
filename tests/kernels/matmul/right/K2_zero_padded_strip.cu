// %%cuda matmul.K2 --block 128
// K2: a strip as long as the block, padded with zeros, in a fully unrolled loop; rows past n are clamped.
extern "C" __global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    __shared__ float strip[BLOCK_X];
    int t = threadIdx.x, i = blockIdx.x * BLOCK_X + t, j = blockIdx.y;
    const float* row = b + min(i, n - 1);
    float sum = 0.0f;
    for (int k0 = 0; k0 < p; k0 += BLOCK_X) {
        strip[t] = k0 + t < p ? c[k0 + t + p * j] : 0.0f;
        __syncthreads();
#pragma unroll 8
        for (int k = 0; k < BLOCK_X; ++k) sum += row[n * min(k0 + k, p - 1)] * strip[k];
        __syncthreads();
    }
    if (i < n) a[i + n * j] = sum;
}
