// %%cuda stencil.opt_1 --block 32 8
// Correct: one warp per row; rows of other blocks are read from global memory.
__global__ void block2D_opt_1(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    __shared__ float rows[BLOCK_Y][BLOCK_X + 2];
    int x = threadIdx.x + 1, y = threadIdx.y;
    int i = blockIdx.x * BLOCK_X + threadIdx.x;
    int j = blockIdx.y * BLOCK_Y + threadIdx.y;

    for (int k = 1; k < nz - 1; k++) {
        int c = (k * ny + j) * nx + i;
        if (i < nx && j < ny) {
            rows[y][x] = A0[c];
            if (x == 1 && i > 0) rows[y][0] = A0[c - 1];
            if (x == BLOCK_X && i + 1 < nx) rows[y][x + 1] = A0[c + 1];
        }
        __syncthreads();
        if (i > 0 && i < nx - 1 && j > 0 && j < ny - 1) {
            float up = y + 1 < BLOCK_Y ? rows[y + 1][x] : A0[c + nx];
            float down = y > 0 ? rows[y - 1][x] : A0[c - nx];
            Anext[c] = rows[y][x - 1] + rows[y][x + 1] + up + down + A0[c - nx * ny] + A0[c + nx * ny]
                     - 6.0f * rows[y][x] / (fac * fac);
        }
        __syncthreads();
    }
}
