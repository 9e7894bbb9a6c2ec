// %%cuda stencil.opt_3 --block 32 8 --tile 1 2 0
// opt_3: the pair, BLOCK_Y apart in y, as small register arrays in unrolled loops over TILE_X and TILE_Y.
#define SPAN_X (BLOCK_X * TILE_X)
#define SPAN_Y (BLOCK_Y * TILE_Y)

extern "C" __global__ void block2D_opt_3(float fac, const float* __restrict__ A0, float* __restrict__ Anext,
                                         int nx, int ny, int nz)
{
    __shared__ float s[SPAN_Y + 2][SPAN_X + 2];
    const int x0 = blockIdx.x * SPAN_X, y0 = blockIdx.y * SPAN_Y;
    float bottom[TILE_Y][TILE_X], centre[TILE_Y][TILE_X], top[TILE_Y][TILE_X];

    auto load = [&](float (&r)[TILE_Y][TILE_X], int k) {
#pragma unroll
        for (int v = 0; v < TILE_Y; ++v)
#pragma unroll
            for (int u = 0; u < TILE_X; ++u) {
                int i = x0 + threadIdx.x + u * BLOCK_X, j = y0 + threadIdx.y + v * BLOCK_Y;
                r[v][u] = i < nx && j < ny ? A0[i + nx * (j + ny * k)] : 0.0f;
            }
    };

    load(bottom, 0);
    load(centre, 1);
    for (int k = 1; k < nz - 1; ++k) {
        load(top, k + 1);
#pragma unroll
        for (int v = 0; v < TILE_Y; ++v)
#pragma unroll
            for (int u = 0; u < TILE_X; ++u)
                s[threadIdx.y + 1 + v * BLOCK_Y][threadIdx.x + 1 + u * BLOCK_X] = centre[v][u];
        for (int n = threadIdx.x + BLOCK_X * threadIdx.y; n < 2 * (SPAN_X + SPAN_Y); n += BLOCK_X * BLOCK_Y) {
            int sx, sy;   // one cell of the halo's ring, without its corners
            if (n < 2 * SPAN_X) { sx = 1 + n % SPAN_X; sy = n < SPAN_X ? 0 : SPAN_Y + 1; }
            else { int m = n - 2 * SPAN_X; sy = 1 + m % SPAN_Y; sx = m < SPAN_Y ? 0 : SPAN_X + 1; }
            int i = x0 + sx - 1, j = y0 + sy - 1;
            if (i >= 0 && j >= 0 && i < nx && j < ny) s[sy][sx] = A0[i + nx * (j + ny * k)];
        }
        __syncthreads();
#pragma unroll
        for (int v = 0; v < TILE_Y; ++v)
#pragma unroll
            for (int u = 0; u < TILE_X; ++u) {
                int i = x0 + threadIdx.x + u * BLOCK_X, j = y0 + threadIdx.y + v * BLOCK_Y;
                int sx = threadIdx.x + 1 + u * BLOCK_X, sy = threadIdx.y + 1 + v * BLOCK_Y;
                if (i > 0 && j > 0 && i < nx - 1 && j < ny - 1)
                    Anext[i + nx * (j + ny * k)] = s[sy][sx - 1] + s[sy][sx + 1] + s[sy - 1][sx] + s[sy + 1][sx]
                        + bottom[v][u] + top[v][u] - 6.0f * centre[v][u] / (fac * fac);
                bottom[v][u] = centre[v][u];
                centre[v][u] = top[v][u];
            }
        __syncthreads();
    }
}
