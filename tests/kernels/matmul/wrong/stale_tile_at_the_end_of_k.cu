// %%cuda matmul.K6 --block 16 16
// Fault, line 10: the last, broken tile of b keeps the last step's values where it should be zero.
extern "C" __global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    __shared__ float bt[16][16], ct[16][16];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int i = blockIdx.x * 16 + tx, j = blockIdx.y * 16 + ty;
    float sum = 0.0f;
    for (int k0 = 0; k0 < p; k0 += 16) {
        if (i < n && k0 + ty < p) bt[ty][tx] = b[i + n * (k0 + ty)];
        ct[ty][tx] = j < m ? c[min(k0 + tx, p - 1) + p * j] : 0.0f;
        __syncthreads();
        for (int k = 0; k < 16; ++k) sum += bt[k][tx] * ct[ty][k];
        __syncthreads();
    }
    if (i < n && j < m) a[i + n * j] = sum;
}
