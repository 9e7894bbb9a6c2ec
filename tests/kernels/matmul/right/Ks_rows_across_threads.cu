// %%cuda matmul.Ks --block 1 32
// Ks: neighbouring threads take neighbouring columns j, so that every access of a warp is n or p floats apart.
extern "C" __global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n && j < m) {
        float sum = 0.0f;
        for (int k = 0; k < p; ++k) sum += b[i + n * k] * c[k + p * j];
        a[i + n * j] = sum;
    }
}
