// %%cuda matmul.K34 --block 32 --tile 1 1
// K2, K3, K4 and K3+K4 in one: TILE_X rows and TILE_Y columns per thread, a strip of each column in shared memory.
extern "C" __global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    __shared__ float strip[TILE_Y][BLOCK_X];
    int t = threadIdx.x, i = blockIdx.x * BLOCK_X * TILE_X + t, j = blockIdx.y * TILE_Y;
    float sum[TILE_X][TILE_Y] = {};
#pragma unroll 1
    for (int k0 = 0; k0 < p; k0 += BLOCK_X) {
        for (int v = 0; v < TILE_Y; ++v) strip[v][t] = c[k0 + t + p * (j + v)];
        __syncthreads();
#pragma unroll K_UNROLL
        for (int k = 0; k < BLOCK_X; ++k) {
            float row[TILE_X];
            for (int u = 0; u < TILE_X; ++u) row[u] = b[i + u * BLOCK_X + n * (k0 + k)];
            for (int u = 0; u < TILE_X; ++u)
                for (int v = 0; v < TILE_Y; ++v) sum[u][v] += row[u] * strip[v][k];
        }
        __syncthreads();
    }
    for (int u = 0; u < TILE_X; ++u)
        for (int v = 0; v < TILE_Y; ++v) a[i + u * BLOCK_X + n * (j + v)] = sum[u][v];
}
