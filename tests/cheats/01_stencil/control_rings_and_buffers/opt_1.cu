// %%cuda stencil.opt_1 --block 16 16
// Each block has a frame of its own tile, which a warp loads row by row.
template <int X, int Y> struct Tile {
    float v[Y + 2][X + 2];
    __device__ float sum(int x, int y) const { return v[y][x + 1] + v[y + 2][x + 1] + v[y + 1][x] + v[y + 1][x + 2]; }
};
__global__ void block2D_opt_1(float fac, const float* __restrict__ A0, float* __restrict__ Anext, int nx, int ny, int nz)
{
    __shared__ Tile<BLOCK_X, BLOCK_Y> tile;
    const int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * BLOCK_X + tx, y = blockIdx.y * BLOCK_Y + ty;
    const float w = 6.0f / (fac * fac);
    const bool inner = x > 0 && y > 0 && x + 1 < nx && y + 1 < ny;
    for (int z = 1; z + 1 < nz; ++z) {
        const float* plane = A0 + (size_t)z * nx * ny;
        for (int r = ty; r < BLOCK_Y + 2; r += BLOCK_Y)
            for (int c = tx; c < BLOCK_X + 2; c += BLOCK_X) {
                int gx = blockIdx.x * BLOCK_X + c - 1, gy = blockIdx.y * BLOCK_Y + r - 1;
                if (gx >= 0 && gy >= 0 && gx < nx && gy < ny) tile.v[r][c] = plane[gx + nx * gy];
            }
        __syncthreads();
        if (inner) {
            int i = x + nx * y;
            Anext[(size_t)z * nx * ny + i] = tile.sum(tx, ty) + plane[i - nx * ny] + plane[i + nx * ny] - w * tile.v[ty + 1][tx + 1];
        }
        __syncthreads();
    }
}
