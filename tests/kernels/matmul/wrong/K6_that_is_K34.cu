// %%cuda matmul.K6 --block 64 --tile 4 4
// Fault, line 16: every thread loads its rows of b from global memory by itself. values: right, technique: wrong
extern "C" __global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    __shared__ float strip[TILE_Y][BLOCK_X];
    const int t = threadIdx.x, i0 = blockIdx.x * BLOCK_X * TILE_X + t, j0 = blockIdx.y * TILE_Y;
    float sum[TILE_Y][TILE_X] = {};
    for (int k0 = 0; k0 < p; k0 += BLOCK_X) {
#pragma unroll
        for (int v = 0; v < TILE_Y; ++v)
            strip[v][t] = k0 + t < p && j0 + v < m ? c[k0 + t + p * (j0 + v)] : 0.0f;
        __syncthreads();
        for (int k = 0; k < min(BLOCK_X, p - k0); ++k)
#pragma unroll
            for (int u = 0; u < TILE_X; ++u) {
                const float row = i0 + u * BLOCK_X < n ? b[i0 + u * BLOCK_X + n * (k0 + k)] : 0.0f;
#pragma unroll
                for (int v = 0; v < TILE_Y; ++v) sum[v][u] += row * strip[v][k];
            }
        __syncthreads();
    }
#pragma unroll
    for (int v = 0; v < TILE_Y; ++v)
#pragma unroll
        for (int u = 0; u < TILE_X; ++u)
            if (i0 + u * BLOCK_X < n && j0 + v < m) a[i0 + u * BLOCK_X + n * (j0 + v)] = sum[v][u];
}
