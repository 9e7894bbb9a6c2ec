// 16x16 tiles of b and c in shared memory; one thread per element. Sizes must be multiples of 16.
#define TILE 16
extern "C" __global__ void sgemm_tiled(float* a, const float* b, const float* c, int n, int m, int p)
{
    __shared__ float bs[TILE][TILE];   // [k][i]
    __shared__ float cs[TILE][TILE];   // [j][k]
    int tx = threadIdx.x, ty = threadIdx.y;
    int i = blockIdx.x * TILE + tx;
    int j = blockIdx.y * TILE + ty;
    float sum = 0.0f;
    for (int k0 = 0; k0 < p; k0 += TILE) {
        bs[ty][tx] = b[i + n * (k0 + ty)];
        cs[ty][tx] = c[(k0 + tx) + p * j];
        __syncthreads();
        for (int k = 0; k < TILE; k++) sum += bs[k][tx] * cs[ty][k];
        __syncthreads();
    }
    a[i + n * j] = sum;
}
