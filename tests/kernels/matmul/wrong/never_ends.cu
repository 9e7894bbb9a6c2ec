// %%cuda matmul.K1 --block 32
// Fault, line 7: k doubles from 0 and stays 0.
extern "C" __global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y;
    if (i >= n) return;
    for (int k = 0; k < p; k += k) {
        a[i + n * j] = b[i + n * k] * c[k + p * j];
    }
}
