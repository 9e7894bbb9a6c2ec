// %%cuda stencil.opt_3 --block 32 8 --tile 1 2 0
// Changes from opt_2: a thread computes two points; each barrier serves twice the work.
__global__ void block2D_opt_3(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    // 1. The tile for both points, bottom and top of both, my places, and the guards.
    const int ROWS = 2 * BLOCK_Y;                // what the block covers in y (--tile 1 2 0)
    __shared__ float tile[ROWS + 2][BLOCK_X + 2];
    float bottom1 = 0.0f, top1 = 0.0f;           // the column of the first point
    float bottom2 = 0.0f, top2 = 0.0f;           // the column of the second

    int x = blockIdx.x * BLOCK_X + threadIdx.x;
    int y1 = blockIdx.y * ROWS + threadIdx.y;
    int y2 = y1 + BLOCK_Y;                       // rows apart: x stays coalesced for both points
    int tx = threadIdx.x + 1;
    int ty1 = threadIdx.y + 1;
    int ty2 = ty1 + BLOCK_Y;
    bool inside1 = x < nx && y1 < ny;
    bool inside2 = x < nx && y2 < ny;
    bool inner1 = 0 < x && x < nx - 1 && 0 < y1 && y1 < ny - 1;
    bool inner2 = 0 < x && x < nx - 1 && y2 < ny - 1;           // y2 is never 0
    int frame = nx * ny;
    int i1 = x + nx * y1;
    int i2 = x + nx * y2;

    // 2. The prologue, for both points.
    if (inside1) {
        bottom1 = A0[i1];
        tile[ty1][tx] = A0[i1 + frame];
    }
    if (inside2) {
        bottom2 = A0[i2];
        tile[ty2][tx] = A0[i2 + frame];
    }
    for (int z = 1; z < nz - 1; ++z) {
        // 3. Load both top points, and the halo around both.
        i1 += frame;
        i2 += frame;
        if (inside1) top1 = A0[i1 + frame];
        if (inside2) top2 = A0[i2 + frame];
        if (inner1) {                            // touches the left, right and low side
            if (tx == 1)       tile[ty1][0]           = A0[i1 - 1];
            if (tx == BLOCK_X) tile[ty1][BLOCK_X + 1] = A0[i1 + 1];
            if (ty1 == 1)      tile[0][tx]            = A0[i1 - nx];
        }
        if (inner2) {                            // touches the left, right and high side
            if (tx == 1)       tile[ty2][0]           = A0[i2 - 1];
            if (tx == BLOCK_X) tile[ty2][BLOCK_X + 1] = A0[i2 + 1];
            if (ty2 == ROWS)   tile[ROWS + 1][tx]     = A0[i2 + nx];
        }

        // 4. Wait, compute both points, wait again.
        __syncthreads();                         // the tile is complete

        if (inner1)
            Anext[i1] = bottom1 + top1
                      + tile[ty1 - 1][tx] + tile[ty1 + 1][tx]
                      + tile[ty1][tx - 1] + tile[ty1][tx + 1]
                      - 6.0f * tile[ty1][tx] / (fac * fac);
        if (inner2)
            Anext[i2] = bottom2 + top2
                      + tile[ty2 - 1][tx] + tile[ty2 + 1][tx]
                      + tile[ty2][tx - 1] + tile[ty2][tx + 1]
                      - 6.0f * tile[ty2][tx] / (fac * fac);
        __syncthreads();                         // all have read

        // 5. Roll both columns.
        if (inside1) {
            bottom1 = tile[ty1][tx];
            tile[ty1][tx] = top1;
        }
        if (inside2) {
            bottom2 = tile[ty2][tx];
            tile[ty2][tx] = top2;
        }
    }
}
