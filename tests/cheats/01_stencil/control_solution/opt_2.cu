// %%cuda stencil.opt_2 --block 32 8
// Changes from opt_1: frames roll through the thread; a step of z loads one frame, not three.
__global__ void block2D_opt_2(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    // 1. The tile, bottom and top, my place, and the guards.
    __shared__ float tile[BLOCK_Y + 2][BLOCK_X + 2];    // the current frame
    float bottom = 0.0f, top = 0.0f;             // read by this thread only: registers

    int x = blockIdx.x * BLOCK_X + threadIdx.x;
    int y = blockIdx.y * BLOCK_Y + threadIdx.y;
    int tx = threadIdx.x + 1;
    int ty = threadIdx.y + 1;
    bool inside = x < nx && y < ny;
    bool inner = 0 < x && x < nx - 1 && 0 < y && y < ny - 1;
    int frame = nx * ny;
    int i = x + nx * y;                          // my point in frame 0

    // 2. The prologue: frame 0 into bottom, frame 1 into the tile.
    if (inside) {
        bottom = A0[i];
        tile[ty][tx] = A0[i + frame];
    }
    for (int z = 1; z < nz - 1; ++z) {
        // 3. Load the top frame, and the halo of the current frame.
        i += frame;
        if (inside)
            top = A0[i + frame];
        if (inner) {
            if (tx == 1)       tile[ty][0]           = A0[i - 1];
            if (tx == BLOCK_X) tile[ty][BLOCK_X + 1] = A0[i + 1];
            if (ty == 1)       tile[0][tx]           = A0[i - nx];
            if (ty == BLOCK_Y) tile[BLOCK_Y + 1][tx] = A0[i + nx];
        }

        // 4. Wait, compute my point, wait again.
        __syncthreads();                         // the tile is complete

        if (inner)
            Anext[i] = bottom + top
                     + tile[ty - 1][tx] + tile[ty + 1][tx]
                     + tile[ty][tx - 1] + tile[ty][tx + 1]
                     - 6.0f * tile[ty][tx] / (fac * fac);
        __syncthreads();                         // all have read

        // 5. Roll.
        if (inside) {                            // each thread its own cell
            bottom = tile[ty][tx];
            tile[ty][tx] = top;
        }
    }
}
