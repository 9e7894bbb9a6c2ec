// %%cuda product_without_second_barrier
// Fault, line 15: the barrier after this use of the tiles is missing.
#define TILE 16
extern "C" __global__ void sgemm(const float* a, const float* b, float* c, int m, int p)
{
    __shared__ float as[TILE][TILE], bs[TILE][TILE];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
    float sum = 0.0f;
    for (int k0 = 0; k0 < p; k0 += TILE) {
        as[ty][tx] = a[row * p + k0 + tx];
        bs[ty][tx] = b[(k0 + ty) * m + col];
        __syncthreads();
        for (int k = 0; k < TILE; ++k)
            sum += as[ty][k] * bs[k][tx];
    }
    c[row * m + col] = sum;
}
