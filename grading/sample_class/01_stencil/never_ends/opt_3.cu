// %%cuda stencil.opt_3 --block 16 16 --tile 2 1 0
// Correct: two points per thread, adjacent in x.
__global__ void block2D_opt_3(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    __shared__ float current[BLOCK_Y + 2][2 * BLOCK_X + 2];
    int x = 2 * threadIdx.x + 1, y = threadIdx.y + 1;
    int i = 2 * (blockIdx.x * BLOCK_X + threadIdx.x);
    int j = blockIdx.y * BLOCK_Y + threadIdx.y;
    int plane = nx * ny;
    int c = i + nx * j;
    bool row = j < ny;
    bool inner = j > 0 && j < ny - 1;
    bool first = i > 0 && i < nx - 1 && inner;
    bool second = i + 1 < nx - 1 && inner;

    float bottom1 = 0, bottom2 = 0, middle1 = 0, middle2 = 0, top1 = 0, top2 = 0;
    if (row && i < nx) { bottom1 = A0[c]; middle1 = A0[c + plane]; }
    if (row && i + 1 < nx) { bottom2 = A0[c + 1]; middle2 = A0[c + 1 + plane]; }

    for (int k = 1; k < nz - 1; k++) {
        c += plane;
        if (row && i < nx) {
            top1 = A0[c + plane];
            current[y][x] = middle1;
            if (threadIdx.x == 0 && i > 0) current[y][0] = A0[c - 1];
            if (y == 1 && j > 0) current[0][x] = A0[c - nx];
            if (y == BLOCK_Y && j < ny - 1) current[y + 1][x] = A0[c + nx];
        }
        if (row && i + 1 < nx) {
            top2 = A0[c + 1 + plane];
            current[y][x + 1] = middle2;
            if (threadIdx.x == BLOCK_X - 1 && i + 2 < nx) current[y][x + 2] = A0[c + 2];
            if (y == 1 && j > 0) current[0][x + 1] = A0[c + 1 - nx];
            if (y == BLOCK_Y && j < ny - 1) current[y + 1][x + 1] = A0[c + 1 + nx];
        }
        __syncthreads();
        if (first)
            Anext[c] = current[y][x - 1] + middle2 + current[y - 1][x] + current[y + 1][x]
                     + bottom1 + top1 - 6.0f * middle1 / (fac * fac);
        if (second)
            Anext[c + 1] = middle1 + current[y][x + 2] + current[y - 1][x + 1] + current[y + 1][x + 1]
                         + bottom2 + top2 - 6.0f * middle2 / (fac * fac);
        __syncthreads();
        bottom1 = middle1; middle1 = top1;
        bottom2 = middle2; middle2 = top2;
    }
}
