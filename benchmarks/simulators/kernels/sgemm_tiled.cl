// 16x16 tiles of b and c in local memory; one work-item per element. Sizes must be multiples of 16.
#define TILE 16
__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1)))
void sgemm_tiled(__global float* a, __global const float* b, __global const float* c, int n, int m, int p)
{
    __local float bs[TILE][TILE];   // [k][i]
    __local float cs[TILE][TILE];   // [j][k]
    int tx = get_local_id(0), ty = get_local_id(1);
    int i = get_group_id(0) * TILE + tx;
    int j = get_group_id(1) * TILE + ty;
    float sum = 0.0f;
    for (int k0 = 0; k0 < p; k0 += TILE) {
        bs[ty][tx] = b[i + n * (k0 + ty)];
        cs[ty][tx] = c[(k0 + tx) + p * j];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < TILE; k++) sum += bs[k][tx] * cs[ty][k];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    a[i + n * j] = sum;
}
