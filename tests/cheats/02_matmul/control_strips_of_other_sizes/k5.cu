// %%cuda matmul.K5 --block 32 8 --tile 1 4
__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    __shared__ float bt[32][32], ct[32][33];
    int tx = threadIdx.x, ty = threadIdx.y, i = blockIdx.x * 32 + tx, j = blockIdx.y * 32 + ty;
    float sum[4] = {};
    for (int ks = 0; ks < p; ks += 32) {
        for (int q = 0; q < 32; q += 8) {
            bt[ty + q][tx] = b[i + n * (ks + ty + q)];
            ct[ty + q][tx] = c[ks + tx + p * (j + q)];
        }
        __syncthreads();
        for (int k = 0; k < 32; ++k)
            for (int q = 0; q < 4; ++q) sum[q] += bt[k][tx] * ct[ty + 8 * q][k];
        __syncthreads();
    }
    for (int q = 0; q < 4; ++q) a[i + n * (j + 8 * q)] = sum[q];
}
