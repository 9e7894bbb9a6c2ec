// %%cuda matmul.K1 --block 1 32
extern "C" __global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    const int i = blockIdx.x * BLOCK_X + threadIdx.x, j = blockIdx.y * BLOCK_Y + threadIdx.y;
    const volatile float* one = b;
    float sum = 0.0f, none = 0.0f;
    for (int k = 0; k < p; ++k) {
        none += one[k] + one[k] + one[k];
        sum += b[i + n * k] * c[k + p * j];
    }
    a[i + n * j] = sum + (none == 1e30f);
}
