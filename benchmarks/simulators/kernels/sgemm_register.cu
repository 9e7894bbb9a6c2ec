// 4x4 elements per thread: 16x16 threads make a 64x64 tile of a, 16 deep steps through shared memory.
// n and m must be multiples of 64, p of 16.
#define SIDE 16
#define OWN 4
#define TILE (SIDE * OWN)
extern "C" __global__ void sgemm_register(float* a, const float* b, const float* c, int n, int m, int p)
{
    __shared__ float bs[SIDE][TILE];   // [k][i]
    __shared__ float cs[SIDE][TILE];   // [k][j]
    int tx = threadIdx.x, ty = threadIdx.y;
    int i0 = blockIdx.x * TILE, j0 = blockIdx.y * TILE;
    float sum[OWN][OWN];
    for (int v = 0; v < OWN; v++)
        for (int u = 0; u < OWN; u++) sum[v][u] = 0.0f;
    for (int k0 = 0; k0 < p; k0 += SIDE) {
        for (int u = 0; u < OWN; u++) {
            bs[ty][tx + SIDE * u] = b[(i0 + tx + SIDE * u) + n * (k0 + ty)];
            cs[tx][ty + SIDE * u] = c[(k0 + tx) + p * (j0 + ty + SIDE * u)];
        }
        __syncthreads();
        for (int k = 0; k < SIDE; k++) {
            float x[OWN], y[OWN];
            for (int u = 0; u < OWN; u++) {
                x[u] = bs[k][tx + SIDE * u];
                y[u] = cs[k][ty + SIDE * u];
            }
            for (int v = 0; v < OWN; v++)
                for (int u = 0; u < OWN; u++) sum[v][u] += x[u] * y[v];
        }
        __syncthreads();
    }
    for (int v = 0; v < OWN; v++)
        for (int u = 0; u < OWN; u++) a[(i0 + tx + SIDE * u) + n * (j0 + ty + SIDE * v)] = sum[v][u];
}
