// %%cuda stencil.opt_1 --block 1 32
// opt_1: a block one thread wide; the tile is three columns, the outer two loaded as halo by every thread.
extern "C" __global__ void block2D_opt_1(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    __shared__ float column[3][BLOCK_Y + 2];
    int i = blockIdx.x, y = threadIdx.y, j = blockIdx.y * BLOCK_Y + y;
    bool working = i > 0 && i < nx - 1;   // the same for the whole block

    if (working)
        for (int k = 1; k < nz - 1; ++k) {
            for (int r = y; r < BLOCK_Y + 2; r += BLOCK_Y) {
                int row = (int)(blockIdx.y * BLOCK_Y) + r - 1;
                if (row >= 0 && row < ny)
                    for (int d = 0; d < 3; ++d) column[d][r] = A0[(k * ny + row) * nx + i + d - 1];
            }
            __syncthreads();
            if (j > 0 && j < ny - 1) {
                int c = (k * ny + j) * nx + i;
                Anext[c] = column[0][y + 1] + column[2][y + 1] + column[1][y] + column[1][y + 2]
                         + A0[c + nx * ny] + A0[c - nx * ny] - 6.0f * column[1][y + 1] / (fac * fac);
            }
            __syncthreads();
        }
}
