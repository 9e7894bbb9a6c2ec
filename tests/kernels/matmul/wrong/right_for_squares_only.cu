// %%cuda matmul.K1 --block 16 16
// Fault, line 6: n, m and p are all taken for the smallest of them, as if the matrices were square.
extern "C" __global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    int size = min(n, min(m, p));
    if (i >= size || j >= size) return;
    float sum = 0.0f;
    for (int k = 0; k < size; ++k) sum += b[i + size * k] * c[k + size * j];
    a[i + size * j] = sum;
}
