// %%cuda matmul.K4 --block 32 --tile 1 4 4
struct Columns { float v[TILE_Y]; __device__ Columns operator+(const Columns& o) const { Columns r; for (int k = 0; k < TILE_Y; ++k) r.v[k] = v[k] + o.v[k]; return r; } };
__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    int t = threadIdx.x, i = blockIdx.x * BLOCK_X + t, j = blockIdx.y * TILE_Y;
    Columns sum = {};
    for (int k0 = 0; k0 < p; k0 += 32) {
        Columns mine;
        #pragma unroll
        for (int v = 0; v < TILE_Y; ++v) mine.v[v] = c[k0 + t + p * (j + v)];
        #pragma unroll 8
        for (int k = 0; k < 32; ++k) {
            float x = b[i + n * (k0 + k)]; Columns part;
            #pragma unroll
            for (int v = 0; v < TILE_Y; ++v) part.v[v] = x * __shfl_sync(~0u, mine.v[v], k);
            sum = sum + part;
        }
    }
    for (int v = 0; v < TILE_Y; ++v) a[i + n * (j + v)] = sum.v[v];
}
