// %%cuda matmul.K2 --block 32
// Fault, line 9: K1 with another name; nothing goes through shared memory. values: right, technique: wrong
extern "C" __global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y;
    if (i >= n) return;
    float sum = 0.0f;
    for (int k = 0; k < p; ++k)
        sum += b[i + n * k] * c[k + p * j];
    a[i + n * j] = sum;
}
