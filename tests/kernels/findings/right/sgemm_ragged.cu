// %%cuda sgemm_ragged
// c = a * b for matrices whose sizes are no multiples of the tile.
#define TILE 16
extern "C" __global__ void sgemm(const float* a, const float* b, float* c, int n, int m, int p)
{
    __shared__ float as[TILE][TILE], bs[TILE][TILE];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
    float sum = 0.0f;
    for (int k0 = 0; k0 < p; k0 += TILE) {
        as[ty][tx] = row < n && k0 + tx < p ? a[row * p + k0 + tx] : 0.0f;
        bs[ty][tx] = k0 + ty < p && col < m ? b[(k0 + ty) * m + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE; ++k) sum += as[ty][k] * bs[k][tx];
        __syncthreads();
    }
    if (row < n && col < m) c[row * m + col] = sum;
}
