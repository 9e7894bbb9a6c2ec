// %%cuda matmul.Ks --block 1 32
// The text of K1. The header makes it slow: the threads of a warp run along j.
__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    int i = blockIdx.x * BLOCK_X + threadIdx.x;
    int j = blockIdx.y * BLOCK_Y + threadIdx.y;
    float sum = 0.0f;
    for (int k = 0; k < p; ++k)
        sum += b[i + n * k] * c[k + p * j];
    a[i + n * j] = sum;
}
