// %%cuda stencil.opt_1 --block 32 8
// Changes from naive: a block shares its tile of the frame; a point is loaded once, not five times.
__global__ void block2D_opt_1(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    // 1. The tile with its halo, my place in it, and the guards.
    __shared__ float tile[BLOCK_Y + 2][BLOCK_X + 2];    // + 2: the halo

    int x = blockIdx.x * BLOCK_X + threadIdx.x;
    int y = blockIdx.y * BLOCK_Y + threadIdx.y;
    int tx = threadIdx.x + 1;                    // my cell of the tile
    int ty = threadIdx.y + 1;
    bool inside = x < nx && y < ny;              // has a point to load
    bool inner = 0 < x && x < nx - 1 && 0 < y && y < ny - 1;    // has a point to write
    int frame = nx * ny;

    for (int z = 1; z < nz - 1; ++z) {
        // 2. Load my point, and the points of the halo next to me.
        int i = x + nx * y + frame * z;
        if (inside)
            tile[ty][tx] = A0[i];
        if (inner) {                             // all its neighbours are in the grid
            if (tx == 1)       tile[ty][0]           = A0[i - 1];
            if (tx == BLOCK_X) tile[ty][BLOCK_X + 1] = A0[i + 1];
            if (ty == 1)       tile[0][tx]           = A0[i - nx];
            if (ty == BLOCK_Y) tile[BLOCK_Y + 1][tx] = A0[i + nx];
        }

        // 3. Wait, compute my point, wait again.
        __syncthreads();                         // the tile is complete

        if (inner)
            Anext[i] = A0[i - frame] + A0[i + frame]
                     + tile[ty - 1][tx] + tile[ty + 1][tx]
                     + tile[ty][tx - 1] + tile[ty][tx + 1]
                     - 6.0f * tile[ty][tx] / (fac * fac);
        __syncthreads();                         // all have read; the next frame may come
    }
}
