// %%cuda matmul.K1 --block 32
// Fault, line 8: the summing variable is spelled in two ways.
extern "C" __global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y;
    float sum = 0.0f;
    if (i < n) {
        for (int k = 0; k < p; ++k) Sum += b[i + n * k] * c[k + p * j];
        a[i + n * j] = sum;
    }
}
