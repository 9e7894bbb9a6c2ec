// %%cuda matmul.K2 --block 64
__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    const int i = blockIdx.x * BLOCK_X + threadIdx.x, j = blockIdx.y;
    float sum = 0.0f;
    for (int k = 0; k < p; ++k) sum += b[i + n * k] * c[k + p * j];
    a[i + n * j] = sum;
}
