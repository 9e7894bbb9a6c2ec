// %%cuda matmul.K6 --block 16 8 --tile 4 4
// K6: shared tiles 64 rows and 32 columns wide, 8 deep; each thread keeps 4x4 sums in registers.
#define ROWS (BLOCK_X * TILE_X)
#define COLUMNS (BLOCK_Y * TILE_Y)
#define DEPTH 8
#define THREADS (BLOCK_X * BLOCK_Y)

extern "C" __global__ void __launch_bounds__(THREADS)
mmkernel(float* __restrict__ a, const float* __restrict__ b, const float* __restrict__ c, int n, int m, int p)
{
    __shared__ float sb[DEPTH][ROWS];
    __shared__ float sc[DEPTH][COLUMNS + 1];
    const int rank = threadIdx.y * BLOCK_X + threadIdx.x;
    const int i0 = blockIdx.x * ROWS, j0 = blockIdx.y * COLUMNS;
    float sum[TILE_Y][TILE_X] = {};

    for (int k0 = 0; k0 < p; k0 += DEPTH) {
        for (int q = rank; q < DEPTH * ROWS; q += THREADS) {
            const int k = k0 + q / ROWS, i = i0 + q % ROWS;
            sb[q / ROWS][q % ROWS] = k < p && i < n ? b[i + (size_t)n * k] : 0.0f;
        }
        for (int q = rank; q < DEPTH * COLUMNS; q += THREADS) {
            const int k = k0 + q % DEPTH, j = j0 + q / DEPTH;
            sc[q % DEPTH][q / DEPTH] = k < p && j < m ? c[k + (size_t)p * j] : 0.0f;
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < DEPTH; ++k) {
            float rb[TILE_X], rc[TILE_Y];
            for (int u = 0; u < TILE_X; ++u) rb[u] = sb[k][threadIdx.x + u * BLOCK_X];
            for (int v = 0; v < TILE_Y; ++v) rc[v] = sc[k][threadIdx.y * TILE_Y + v];
            for (int v = 0; v < TILE_Y; ++v)
                for (int u = 0; u < TILE_X; ++u) sum[v][u] += rb[u] * rc[v];
        }
        __syncthreads();
    }
    for (int v = 0; v < TILE_Y; ++v)
        for (int u = 0; u < TILE_X; ++u) {
            const int i = i0 + threadIdx.x + u * BLOCK_X, j = j0 + threadIdx.y * TILE_Y + v;
            if (i < n && j < m) a[i + (size_t)n * j] = sum[v][u];
        }
}
