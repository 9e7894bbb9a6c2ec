// %%cuda matmul.K1 --block 32
// Fault, line 9: the strides of b and c are exchanged, and one of the two indices leaves its matrix.
extern "C" __global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y;
    if (i >= n) return;
    float sum = 0.0f;
    for (int k = 0; k < p; ++k)
        sum += b[i + p * k] * c[k + n * j];
    a[i + n * j] = sum;
}
