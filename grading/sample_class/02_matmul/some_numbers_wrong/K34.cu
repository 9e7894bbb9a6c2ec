// %%cuda matmul.K34 --block 32 --tile 2 4
// K34: two rows by four columns a thread, as a register block in loops over TILE_X and TILE_Y.
extern "C" __global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    __shared__ float strips[TILE_Y][BLOCK_X];
    const int t = threadIdx.x, i0 = blockIdx.x * BLOCK_X * TILE_X + t, j0 = blockIdx.y * TILE_Y;
    float sum[TILE_X][TILE_Y] = {};
    for (int k0 = 0; k0 < p; k0 += BLOCK_X) {
#pragma unroll
        for (int v = 0; v < TILE_Y; ++v)
            strips[v][t] = k0 + t < p && j0 + v < m ? c[k0 + t + p * (j0 + v)] : 0.0f;
        __syncthreads();
        const int length = min(BLOCK_X, p - k0);
        for (int k = 0; k < length; ++k) {
            float rows[TILE_X];
#pragma unroll
            for (int u = 0; u < TILE_X; ++u) {
                const int i = i0 + u * BLOCK_X;
                rows[u] = i < n ? b[i + n * (k0 + k)] : 0.0f;
            }
#pragma unroll
            for (int u = 0; u < TILE_X; ++u)
#pragma unroll
                for (int v = 0; v < TILE_Y; ++v) sum[u][v] += rows[u] * strips[v][k];
        }
        __syncthreads();
    }
#pragma unroll
    for (int u = 0; u < TILE_X; ++u)
#pragma unroll
        for (int v = 0; v < TILE_Y; ++v) {
            const int i = i0 + u * BLOCK_X, j = j0 + v;
            if (i < n && j < m) a[i + n * j] = sum[u][v];
        }
}
