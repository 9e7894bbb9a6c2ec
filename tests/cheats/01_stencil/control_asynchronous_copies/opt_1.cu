// %%cuda stencil.opt_1 --block 32 8
// The tile of the next frame is copied while this one is used.
#include <cuda_pipeline.h>

__global__ void block2D_opt_1(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    constexpr int W = BLOCK_X + 2, H = BLOCK_Y + 2;
    __shared__ float tiles[2][H][W];
    const int x0 = blockIdx.x * BLOCK_X - 1, y0 = blockIdx.y * BLOCK_Y - 1;
    const int tx = threadIdx.x + 1, ty = threadIdx.y + 1, x = x0 + tx, y = y0 + ty;
    const long long frame = (long long)nx * ny;

    auto copy = [&](int z) {
        for (int q = threadIdx.y * BLOCK_X + threadIdx.x; z < nz - 1 && q < W * H; q += BLOCK_X * BLOCK_Y) {
            const int i = x0 + q % W, j = y0 + q / W;
            if (i >= 0 && i < nx && j >= 0 && j < ny)
                __pipeline_memcpy_async(&tiles[z & 1][q / W][q % W], A0 + i + nx * j + frame * z, sizeof(float));
        }
        __pipeline_commit();
    };

    copy(1);
    for (int z = 1; z < nz - 1; z++) {
        copy(z + 1);
        __pipeline_wait_prior(1);
        __syncthreads();
        const auto& tile = tiles[z & 1];
        if (x > 0 && x < nx - 1 && y > 0 && y < ny - 1) {
            const long long i = x + nx * y + frame * z;
            Anext[i] = tile[ty][tx - 1] + tile[ty][tx + 1] + tile[ty - 1][tx] + tile[ty + 1][tx]
                     + A0[i - frame] + A0[i + frame] - 6.0f * tile[ty][tx] / (fac * fac);
        }
        __syncthreads();
    }
}
