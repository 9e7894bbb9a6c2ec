// 4x4 elements per work-item: 16x16 work-items make a 64x64 tile of a, 16 deep steps through local memory.
// n and m must be multiples of 64, p of 16.
#define SIDE 16
#define OWN 4
#define TILE (SIDE * OWN)
__kernel __attribute__((reqd_work_group_size(SIDE, SIDE, 1)))
void sgemm_register(__global float* a, __global const float* b, __global const float* c, int n, int m, int p)
{
    __local float bs[SIDE][TILE];   // [k][i]
    __local float cs[SIDE][TILE];   // [k][j]
    int tx = get_local_id(0), ty = get_local_id(1);
    int i0 = get_group_id(0) * TILE, j0 = get_group_id(1) * TILE;
    float sum[OWN][OWN];
    for (int v = 0; v < OWN; v++)
        for (int u = 0; u < OWN; u++) sum[v][u] = 0.0f;
    for (int k0 = 0; k0 < p; k0 += SIDE) {
        for (int u = 0; u < OWN; u++) {
            bs[ty][tx + SIDE * u] = b[(i0 + tx + SIDE * u) + n * (k0 + ty)];
            cs[tx][ty + SIDE * u] = c[(k0 + tx) + p * (j0 + ty + SIDE * u)];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < SIDE; k++) {
            float x[OWN], y[OWN];
            for (int u = 0; u < OWN; u++) {
                x[u] = bs[k][tx + SIDE * u];
                y[u] = cs[k][ty + SIDE * u];
            }
            for (int v = 0; v < OWN; v++)
                for (int u = 0; u < OWN; u++) sum[v][u] += x[u] * y[v];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int v = 0; v < OWN; v++)
        for (int u = 0; u < OWN; u++) a[(i0 + tx + SIDE * u) + n * (j0 + ty + SIDE * v)] = sum[v][u];
}
