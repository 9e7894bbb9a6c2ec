// %%cuda matmul.K5 --block 16 16
// K5: 16x16 tiles of b and c in shared memory; both are loaded along their own columns.
extern "C" __global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    __shared__ float bt[16][16], ct[16][17];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int i = blockIdx.x * 16 + tx, j = blockIdx.y * 16 + ty;
    float sum = 0.0f;
    for (int k0 = 0; k0 < p; k0 += 16) {
        bt[ty][tx] = i < n && k0 + ty < p ? b[i + n * (k0 + ty)] : 0.0f;
        ct[ty][tx] = j < m && k0 + tx < p ? c[k0 + tx + p * j] : 0.0f;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 16; ++k) sum += bt[k][tx] * ct[ty][k];
        __syncthreads();
    }
    if (i < n && j < m) a[i + n * j] = sum;
}
