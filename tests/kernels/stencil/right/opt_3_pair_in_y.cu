// %%cuda stencil.opt_3 --block 32 4 --tile 1 2 0
// opt_3: two neighbouring rows a thread; the pair shares its inner y neighbours in registers.
extern "C" __global__ void block2D_opt_3(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    __shared__ float tile[2 * BLOCK_Y][BLOCK_X + 2];
    const int tx = threadIdx.x, r = 2 * threadIdx.y;
    const int i = blockIdx.x * BLOCK_X + tx;
    const int j = 2 * (blockIdx.y * BLOCK_Y + threadIdx.y);
    const size_t frame = (size_t)nx * ny, c0 = (size_t)j * nx + i;
    const bool here1 = i < nx && j < ny, here2 = i < nx && j + 1 < ny;
    const bool column = i > 0 && i < nx - 1;
    const float w = 6.0f / (fac * fac);
    float below1 = here1 ? A0[c0] : 0.0f, below2 = here2 ? A0[c0 + nx] : 0.0f;
    float mid1 = here1 ? A0[c0 + frame] : 0.0f, mid2 = here2 ? A0[c0 + frame + nx] : 0.0f;

    for (int k = 1; k < nz - 1; ++k) {
        const size_t c = c0 + k * frame;
        tile[r][tx + 1] = mid1;
        tile[r + 1][tx + 1] = mid2;
        if (tx == 0 && i > 0) {
            if (here1) tile[r][0] = A0[c - 1];
            if (here2) tile[r + 1][0] = A0[c + nx - 1];
        }
        if (tx == BLOCK_X - 1 && i + 1 < nx) {
            if (here1) tile[r][BLOCK_X + 1] = A0[c + 1];
            if (here2) tile[r + 1][BLOCK_X + 1] = A0[c + nx + 1];
        }
        const float above1 = here1 ? A0[c + frame] : 0.0f;
        const float above2 = here2 ? A0[c + frame + nx] : 0.0f;
        __syncthreads();
        if (column && j > 0 && j < ny - 1) {
            const float up = r > 0 ? tile[r - 1][tx + 1] : A0[c - nx];
            Anext[c] = tile[r][tx] + tile[r][tx + 2] + up + mid2 + below1 + above1 - w * mid1;
        }
        if (column && j + 1 < ny - 1) {
            const float down = r + 2 < 2 * BLOCK_Y ? tile[r + 2][tx + 1] : A0[c + 2 * nx];
            Anext[c + nx] = tile[r + 1][tx] + tile[r + 1][tx + 2] + mid1 + down + below2 + above2 - w * mid2;
        }
        __syncthreads();
        below1 = mid1; mid1 = above1;
        below2 = mid2; mid2 = above2;
    }
}
