// %%cuda matmul.K1 --block 32
// Fault, line 8: adds to a, which holds nothing yet.
extern "C" __global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y;
    if (i >= n) return;
    for (int k = 0; k < p; ++k)
        a[i + n * j] += b[i + n * k] * c[k + p * j];
}
