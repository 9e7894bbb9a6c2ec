// %%cuda matmul.K6 --block 16 8 --tile 4 4
// K6: slices 8 deep, two of each in turns, one barrier a slice; 16-byte loads where every column is aligned.
#define DEPTH 8
#define ROWS (BLOCK_X * TILE_X)
#define COLUMNS (BLOCK_Y * TILE_Y)
#define THREADS (BLOCK_X * BLOCK_Y)

__device__ __forceinline__ float4 four(const float* column, int at, int end, bool aligned)
{
    if (aligned)
        return at < end ? *reinterpret_cast<const float4*>(column + at) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    return make_float4(at < end ? column[at] : 0.0f, at + 1 < end ? column[at + 1] : 0.0f,
                       at + 2 < end ? column[at + 2] : 0.0f, at + 3 < end ? column[at + 3] : 0.0f);
}

extern "C" __global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    __shared__ float4 sb[2][DEPTH][ROWS / 4];
    __shared__ float sc[2][DEPTH][COLUMNS + 1];
    const int rank = threadIdx.y * BLOCK_X + threadIdx.x;
    const int i0 = blockIdx.x * ROWS, j0 = blockIdx.y * COLUMNS;
    const bool aligned = n % 4 == 0 && p % 4 == 0;
    float4 sum[TILE_Y] = {};

    int which = 0;
    for (int k0 = 0; k0 < p; k0 += DEPTH, which ^= 1) {
        for (int q = rank; q < DEPTH * ROWS / 4; q += THREADS) {
            const int k = q / (ROWS / 4), r = q % (ROWS / 4);
            sb[which][k][r] = k0 + k < p ? four(b + (size_t)n * (k0 + k), i0 + 4 * r, n, aligned) : float4();
        }
        for (int q = rank; q < DEPTH / 4 * COLUMNS; q += THREADS) {
            const int k = q % (DEPTH / 4) * 4, s = q / (DEPTH / 4), j = j0 + s;
            const float4 got = j < m ? four(c + (size_t)p * j, k0 + k, p, aligned) : float4();
            sc[which][k][s] = got.x;
            sc[which][k + 1][s] = got.y;
            sc[which][k + 2][s] = got.z;
            sc[which][k + 3][s] = got.w;
        }
        __syncthreads();   // the only one: who writes this half again has passed the next slice's barrier
#pragma unroll 2
        for (int k = 0; k < DEPTH; ++k) {
            const float4 r = sb[which][k][threadIdx.x];
#pragma unroll
            for (int v = 0; v < TILE_Y; ++v) {
                const float value = sc[which][k][threadIdx.y * TILE_Y + v];
                sum[v].x += r.x * value;
                sum[v].y += r.y * value;
                sum[v].z += r.z * value;
                sum[v].w += r.w * value;
            }
        }
    }
    const int i = i0 + 4 * threadIdx.x;
#pragma unroll
    for (int v = 0; v < TILE_Y; ++v) {
        const int j = j0 + threadIdx.y * TILE_Y + v;
        float* out = a + (size_t)n * j;
        if (j < m && i < n) out[i] = sum[v].x;
        if (j < m && i + 1 < n) out[i + 1] = sum[v].y;
        if (j < m && i + 2 < n) out[i + 2] = sum[v].z;
        if (j < m && i + 3 < n) out[i + 3] = sum[v].w;
    }
}
