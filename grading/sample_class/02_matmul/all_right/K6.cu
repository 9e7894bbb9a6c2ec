// %%cuda matmul.K6 --block 16 16 --tile 8 8
// One slice of b and c at a time, eight by eight sums in registers, and stores straight from them.
__global__ void __launch_bounds__(256)
mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    __shared__ __align__(16) float left[8][128];
    __shared__ __align__(16) float right[8][132];
    int x = threadIdx.x, y = threadIdx.y, rank = 16 * y + x;
    int i0 = 128 * blockIdx.x, j0 = 128 * blockIdx.y;
    float sum[8][8] = {};

    for (int k0 = 0; k0 < p; k0 += 8) {
        #pragma unroll
        for (int q = 0; q < 4; q++) {
            int k = rank / 128 + 2 * q, i = rank % 128;
            left[k][i] = i0 + i < n && k0 + k < p ? b[i0 + i + n * (k0 + k)] : 0.0f;
        }
        #pragma unroll
        for (int q = 0; q < 4; q++) {
            int k = rank % 8, j = rank / 8 + 32 * q;
            right[k][j] = j0 + j < m && k0 + k < p ? c[k0 + k + p * (j0 + j)] : 0.0f;
        }
        __syncthreads();
        #pragma unroll 1
        for (int k = 0; k < 8; k++) {
            float4 r[2] = {*(float4*)&left[k][4 * x], *(float4*)&left[k][64 + 4 * x]};
            float4 s[2] = {*(float4*)&right[k][4 * y], *(float4*)&right[k][64 + 4 * y]};
            const float *rows = (float*)r, *columns = (float*)s;
            #pragma unroll
            for (int v = 0; v < 8; v++)
                #pragma unroll
                for (int u = 0; u < 8; u++) sum[v][u] += rows[u] * columns[v];
        }
        __syncthreads();
    }

    #pragma unroll
    for (int v = 0; v < 8; v++)
        #pragma unroll
        for (int u = 0; u < 8; u++) {
            int i = i0 + 64 * (u / 4) + 4 * x + u % 4, j = j0 + 64 * (v / 4) + 4 * y + v % 4;
            if (i < n && j < m) a[i + n * j] = sum[v][u];
        }
}
