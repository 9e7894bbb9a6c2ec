// %%cuda stencil.opt_3 --block 32 8 --tile 2 1 0
// opt_3: two points a thread, BLOCK_X apart in x, so that every access of a warp stays in one row of 32.
extern "C" __global__ void block2D_opt_3(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    __shared__ float current[BLOCK_Y + 2][2 * BLOCK_X + 2];
    const int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    const int i1 = blockIdx.x * (2 * BLOCK_X) + threadIdx.x, i2 = i1 + BLOCK_X;
    const int j = blockIdx.y * BLOCK_Y + threadIdx.y;
    const int frame = nx * ny;
    const bool exists1 = i1 < nx && j < ny, exists2 = i2 < nx && j < ny;
    const bool row = j > 0 && j < ny - 1;
    float bottom1 = 0, bottom2 = 0, centre1 = 0, centre2 = 0, top1 = 0, top2 = 0;
    int c = i1 + nx * j;

    if (exists1) { bottom1 = A0[c]; centre1 = A0[c + frame]; }
    if (exists2) { bottom2 = A0[c + BLOCK_X]; centre2 = A0[c + BLOCK_X + frame]; }
    for (int k = 1; k < nz - 1; ++k) {
        c += frame;
        current[ty][tx] = centre1;
        current[ty][tx + BLOCK_X] = centre2;
        if (exists1) {
            top1 = A0[c + frame];
            if (tx == 1 && i1 > 0) current[ty][0] = A0[c - 1];
            if (ty == 1 && j > 0) current[0][tx] = A0[c - nx];
            if (ty == BLOCK_Y && j < ny - 1) current[BLOCK_Y + 1][tx] = A0[c + nx];
        }
        if (exists2) {
            top2 = A0[c + BLOCK_X + frame];
            if (tx == BLOCK_X && i2 < nx - 1) current[ty][2 * BLOCK_X + 1] = A0[c + BLOCK_X + 1];
            if (ty == 1 && j > 0) current[0][tx + BLOCK_X] = A0[c + BLOCK_X - nx];
            if (ty == BLOCK_Y && j < ny - 1) current[BLOCK_Y + 1][tx + BLOCK_X] = A0[c + BLOCK_X + nx];
        }
        __syncthreads();
        if (row && i1 > 0 && i1 < nx - 1)
            Anext[c] = current[ty][tx - 1] + current[ty][tx + 1] + current[ty - 1][tx] + current[ty + 1][tx]
                     + bottom1 + top1 - 6.0f * centre1 / (fac * fac);
        if (row && i2 < nx - 1) {
            const int sx = tx + BLOCK_X;
            Anext[c + BLOCK_X] = current[ty][sx - 1] + current[ty][sx + 1] + current[ty - 1][sx] + current[ty + 1][sx]
                               + bottom2 + top2 - 6.0f * centre2 / (fac * fac);
        }
        __syncthreads();
        bottom1 = centre1; centre1 = top1;
        bottom2 = centre2; centre2 = top2;
    }
}
