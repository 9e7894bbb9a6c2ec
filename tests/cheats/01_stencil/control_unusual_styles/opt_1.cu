// %%cuda stencil.opt_1 --block 32 8
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
template <int H, int W> struct Tile { float v[H][W]; __device__ float& operator()(int y, int x) { return v[y][x]; } };
__global__ void block2D_opt_1(float fac, const float* __restrict__ A0, float* __restrict__ Anext, int nx, int ny, int nz)
{
    __shared__ Tile<BLOCK_Y + 2, BLOCK_X + 2> tile;
    auto block = cg::this_thread_block();
    const dim3 g = block.group_index(), l = block.thread_index();
    const int x = g.x * BLOCK_X + l.x, y = g.y * BLOCK_Y + l.y;
    for (int z = 1; z < nz - 1; ++z) {
        const float* frame = A0 + (size_t)nx * ny * z;
        for (int n = block.thread_rank(); n < (BLOCK_X + 2) * (BLOCK_Y + 2); n += block.size()) {
            int ty = n / (BLOCK_X + 2), tx = n % (BLOCK_X + 2);
            int gx = (int)g.x * BLOCK_X + tx - 1, gy = (int)g.y * BLOCK_Y + ty - 1;
            tile(ty, tx) = gx >= 0 && gx < nx && gy >= 0 && gy < ny ? __ldg(frame + gx + nx * gy) : 0.0f;
        }
        block.sync();
        if (x > 0 && x < nx - 1 && y > 0 && y < ny - 1) {
            const int i = x + nx * y, ty = l.y + 1, tx = l.x + 1;
            Anext[i + (size_t)nx * ny * z] = frame[i - nx * ny] + frame[i + nx * ny] + tile(ty - 1, tx) + tile(ty + 1, tx) + tile(ty, tx - 1) + tile(ty, tx + 1) - 6.0f * tile(ty, tx) / (fac * fac);
        }
        block.sync();
    }
}
