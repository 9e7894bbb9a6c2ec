// %%cuda matmul.K1 --block 32
// Fault, line 10: clears the value of b that it has just used up, in the last column.
extern "C" __global__ void mmkernel(float* a, float* b, const float* c, int n, int m, int p)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y;
    if (i >= n) return;
    float sum = 0.0f;
    for (int k = 0; k < p; ++k) sum += b[i + n * k] * c[k + p * j];
    a[i + n * j] = sum;
    if (j == m - 1) b[i + n * (p - 1)] = 0.0f;
}
