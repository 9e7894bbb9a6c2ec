// %%cuda stencil.opt_1 --block 32 8
// Loads the next frame into the tile while other warps still read the current one.
__global__ void block2D_opt_1(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    __shared__ float tile[BLOCK_Y + 2][BLOCK_X + 2];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    int tx = threadIdx.x + 1;
    int ty = threadIdx.y + 1;

    for (int k = 1; k < nz - 1; k++) {
        int c = i + nx * (j + ny * k);
        if (i < nx && j < ny) {
            tile[ty][tx] = A0[c];
            if (threadIdx.x == 0 && i > 0) tile[ty][0] = A0[c - 1];
            if (threadIdx.x == BLOCK_X - 1 && i < nx - 1) tile[ty][BLOCK_X + 1] = A0[c + 1];
            if (threadIdx.y == 0 && j > 0) tile[0][tx] = A0[c - nx];
            if (threadIdx.y == BLOCK_Y - 1 && j < ny - 1) tile[BLOCK_Y + 1][tx] = A0[c + nx];
        }
        __syncthreads();

        if (i > 0 && i < nx - 1 && j > 0 && j < ny - 1)
            Anext[c] = tile[ty][tx - 1] + tile[ty][tx + 1] + tile[ty - 1][tx] + tile[ty + 1][tx]
                     + A0[c - nx * ny] + A0[c + nx * ny] - 6 * tile[ty][tx] / (fac * fac);
    }
}
