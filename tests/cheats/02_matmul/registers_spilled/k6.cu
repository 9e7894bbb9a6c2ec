// %%cuda matmul.K6 --block 8 8 --tile 32 16
__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    __shared__ float sb[8][BLOCK_X * TILE_X], sc[8][BLOCK_Y * TILE_Y];
    const int tx = threadIdx.x, ty = threadIdx.y, t = ty * BLOCK_X + tx, i0 = blockIdx.x * BLOCK_X * TILE_X, j0 = blockIdx.y * BLOCK_Y * TILE_Y;
    float sum[TILE_Y][TILE_X] = {};
    for (int k0 = 0; k0 < p; k0 += 8) {
        #pragma unroll
        for (int q = t; q < 8 * BLOCK_X * TILE_X; q += 64) { int k = q / (BLOCK_X * TILE_X), i = q % (BLOCK_X * TILE_X); sb[k][i] = k0 + k < p && i0 + i < n ? b[i0 + i + (size_t)n * (k0 + k)] : 0; }
        #pragma unroll
        for (int q = t; q < 8 * BLOCK_Y * TILE_Y; q += 64) { int k = q % 8, j = q / 8; sc[k][j] = k0 + k < p && j0 + j < m ? c[k0 + k + (size_t)p * (j0 + j)] : 0; }
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < 8; ++k) {
            float x[TILE_X], y[TILE_Y];
            #pragma unroll
            for (int u = 0; u < TILE_X; u += 4) *(float4*)(x + u) = *(float4*)&sb[k][(u / 4 * BLOCK_X + tx) * 4];
            #pragma unroll
            for (int v = 0; v < TILE_Y; v += 4) *(float4*)(y + v) = *(float4*)&sc[k][(v / 4 * BLOCK_Y + ty) * 4];
            #pragma unroll
            for (int v = 0; v < TILE_Y; ++v)
                #pragma unroll
                for (int u = 0; u < TILE_X; ++u) sum[v][u] += x[u] * y[v];
        }
        __syncthreads();
    }
    #pragma unroll
    for (int v = 0; v < TILE_Y; ++v)
        #pragma unroll
        for (int u = 0; u < TILE_X; ++u) { int i = i0 + (u / 4 * BLOCK_X + tx) * 4 + u % 4, j = j0 + (v / 4 * BLOCK_Y + ty) * 4 + v % 4; if (i < n && j < m) a[i + (size_t)n * j] = sum[v][u]; }
}
