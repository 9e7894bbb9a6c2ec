// %%cuda matmul.K1 --block 32
// K1: a warp takes 32 neighbouring rows i of one column j; one thread, one sum.
extern "C" __global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    int i = blockIdx.x * 32 + threadIdx.x;
    int j = blockIdx.y;
    float sum = 0.0f;
    if (i < n) {
        for (int k = 0; k < p; ++k) sum += b[i + n * k] * c[k + p * j];
        a[i + n * j] = sum;
    }
}
