// %%cuda matmul.K6 --block 16 8 --tile 4 4
// Fault, line 12: n is used for m and p too, as if the matrices were square; reads and writes stay inside by a guard.
#define ROWS (BLOCK_X * TILE_X)
#define COLUMNS (BLOCK_Y * TILE_Y)
#define DEPTH 8
#define THREADS (BLOCK_X * BLOCK_Y)

extern "C" __global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    __shared__ float sb[DEPTH][ROWS], sc[DEPTH][COLUMNS];
    const int rank = threadIdx.y * BLOCK_X + threadIdx.x, i0 = blockIdx.x * ROWS, j0 = blockIdx.y * COLUMNS;
    const int side = n, last = min(m, p);
    float sum[TILE_Y][TILE_X] = {};
    for (int k0 = 0; k0 < side; k0 += DEPTH) {
        for (int q = rank; q < DEPTH * ROWS; q += THREADS) {
            const int k = k0 + q / ROWS, i = i0 + q % ROWS;
            sb[q / ROWS][q % ROWS] = k < last && i < n ? b[i + side * k] : 0.0f;
        }
        for (int q = rank; q < DEPTH * COLUMNS; q += THREADS) {
            const int k = k0 + q % DEPTH, j = j0 + q / DEPTH;
            sc[q % DEPTH][q / DEPTH] = k < last && j < m && k + side * j < p * m ? c[k + side * j] : 0.0f;
        }
        __syncthreads();
        for (int k = 0; k < DEPTH; ++k)
            for (int v = 0; v < TILE_Y; ++v)
                for (int u = 0; u < TILE_X; ++u)
                    sum[v][u] += sb[k][threadIdx.x + u * BLOCK_X] * sc[k][threadIdx.y * TILE_Y + v];
        __syncthreads();
    }
    for (int v = 0; v < TILE_Y; ++v)
        for (int u = 0; u < TILE_X; ++u) {
            const int i = i0 + threadIdx.x + u * BLOCK_X, j = j0 + threadIdx.y * TILE_Y + v;
            if (i < n && j < m) a[i + side * j] = sum[v][u];
        }
}
