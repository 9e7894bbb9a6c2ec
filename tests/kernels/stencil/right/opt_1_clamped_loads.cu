// %%cuda stencil.opt_1 --block 32 32
// opt_1: load addresses are clamped into the frame, so that no load needs a guard.
extern "C" __global__ void block2D_opt_1(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    __shared__ float tile[BLOCK_Y + 2][BLOCK_X + 3];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int i = blockIdx.x * BLOCK_X + tx, j = blockIdx.y * BLOCK_Y + ty;
    const int x = min(i, nx - 1), y = min(j, ny - 1);

    for (int k = 1; k < nz - 1; ++k) {
        const float* f = A0 + (size_t)k * nx * ny;
        tile[ty + 1][tx + 1] = f[y * nx + x];
        if (tx < 2) {
            int hx = tx == 0 ? max((int)(blockIdx.x * BLOCK_X) - 1, 0) : min((int)(blockIdx.x + 1) * BLOCK_X, nx - 1);
            tile[ty + 1][tx * (BLOCK_X + 1)] = f[y * nx + hx];
        }
        if (ty < 2) {
            int hy = ty == 0 ? max((int)(blockIdx.y * BLOCK_Y) - 1, 0) : min((int)(blockIdx.y + 1) * BLOCK_Y, ny - 1);
            tile[ty * (BLOCK_Y + 1)][tx + 1] = f[hy * nx + x];
        }
        __syncthreads();
        if (i >= 1 && j >= 1 && i < nx - 1 && j < ny - 1) {
            int c = j * nx + i;
            float sum = tile[ty + 1][tx] + tile[ty + 1][tx + 2] + tile[ty][tx + 1] + tile[ty + 2][tx + 1];
            sum += f[c - nx * ny] + f[c + nx * ny];
            Anext[(size_t)k * nx * ny + c] = sum - 6.0f * tile[ty + 1][tx + 1] / (fac * fac);
        }
        __syncthreads();
    }
}
