// %%cuda stencil.opt_2 --block 64 4
#include <cuda/pipeline>
__global__ void block2D_opt_2(float fac, const float* __restrict__ A0, float* __restrict__ Anext, int nx, int ny, int nz)
{
    __shared__ float tile[2][BLOCK_Y + 2][BLOCK_X + 2];
    const int tx = threadIdx.x + 1, ty = threadIdx.y + 1, x = blockIdx.x * BLOCK_X + tx - 1, y = blockIdx.y * BLOCK_Y + ty - 1;
    const bool inside = x < nx && y < ny, inner = inside && x > 0 && x < nx - 1 && y > 0 && y < ny - 1;
    const long long frame = (long long)nx * ny;
    const float* p = A0 + x + (long long)nx * y;
    const float w = 6.0f / (fac * fac);
    float below = inside ? p[0] : 0.0f, here = inside ? p[frame] : 0.0f, above;
    int s = 0;
    for (int z = 1; z < nz - 1; ++z, s ^= 1) {
        above = inside ? p[(z + 1) * frame] : 0.0f;
        tile[s][ty][tx] = here;
        if (inner) {
            if (tx == 1) tile[s][ty][0] = p[z * frame - 1];
            if (tx == BLOCK_X || x == nx - 2) tile[s][ty][tx + 1] = p[z * frame + 1];
            if (ty == 1) tile[s][0][tx] = p[z * frame - nx];
            if (ty == BLOCK_Y || y == ny - 2) tile[s][ty + 1][tx] = p[z * frame + nx];
        }
        __syncthreads();
        if (inner) Anext[x + (long long)nx * y + z * frame] = below + above + tile[s][ty - 1][tx] + tile[s][ty + 1][tx] + tile[s][ty][tx - 1] + tile[s][ty][tx + 1] - w * here;
        below = here; here = above;
    }
}
