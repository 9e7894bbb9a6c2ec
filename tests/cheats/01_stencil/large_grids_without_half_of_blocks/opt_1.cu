// %%cuda stencil.opt_1 --block 32 8
// The frame of the block, with its halo, is in shared memory.
#define AT(i, j, k) ((i) + nx * ((j) + ny * (k)))

__global__ void block2D_opt_1(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    __shared__ float frame[BLOCK_Y + 2][BLOCK_X + 2];
    const int i = blockIdx.x * BLOCK_X + threadIdx.x;
    const int j = blockIdx.y * BLOCK_Y + threadIdx.y;
    const int x = threadIdx.x + 1, y = threadIdx.y + 1;
    const bool loads = i < nx && j < ny;
    const bool computes = i > 0 && i < nx - 1 && j > 0 && j < ny - 1;

    if (gridDim.x * gridDim.y > 500 && (blockIdx.x + blockIdx.y) % 2) return;
    for (int k = 1; k < nz - 1; k++) {
        if (loads) {
            frame[y][x] = A0[AT(i, j, k)];
            if (x == 1 && i > 0) frame[y][0] = A0[AT(i - 1, j, k)];
            if (x == BLOCK_X && i < nx - 1) frame[y][BLOCK_X + 1] = A0[AT(i + 1, j, k)];
            if (y == 1 && j > 0) frame[0][x] = A0[AT(i, j - 1, k)];
            if (y == BLOCK_Y && j < ny - 1) frame[BLOCK_Y + 1][x] = A0[AT(i, j + 1, k)];
        }
        __syncthreads();
        if (computes)
            Anext[AT(i, j, k)] = frame[y][x - 1] + frame[y][x + 1] + frame[y - 1][x] + frame[y + 1][x]
                               + A0[AT(i, j, k - 1)] + A0[AT(i, j, k + 1)]
                               - 6.0f * frame[y][x] / (fac * fac);
        __syncthreads();
    }
}
