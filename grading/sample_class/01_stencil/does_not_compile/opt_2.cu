// %%cuda stencil.opt_2 --block 32 8
// Rolling frames with the halo in shared memory; two alternating tiles need one barrier per frame.
__global__ void block2D_opt_2(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    __shared__ float tile[2][BLOCK_Y + 2][BLOCK_X + 2];
    int x = threadIdx.x + 1, y = threadIdx.y + 1;
    int i = blockIdx.x * BLOCK_X + threadIdx.x;
    int j = blockIdx.y * BLOCK_Y + threadIdx.y;
    int frame = nx * ny;
    int c = i + nx * j;
    bool loads = i < nx && j < ny;
    bool mine = i > 0 && i < nx - 1 && j > 0 && j < ny - 1;

    float bottom = loads ? A0[c] : 0.0f;
    float middle = loads ? A0[c + frame] : 0.0f;
    for (int k = 1; k < nz - 1; k++) {
        c += frame;
        float (*t)[BLOCK_X + 2] = tile[k % 2];
        float top = 0.0f;
        if (loads) {
            top = A0[c + frame];
            t[y][x] = middle;
            if (x == 1 && i > 0) t[y][0] = A0[c - 1];
            if (x == BLOCK_X && i < nx - 1) t[y][x + 1] = A0[c + 1];
            if (y == 1 && j > 0) t[0][x] = A0[c - nx];
            if (y == BLOCK_Y && j < ny - 1) t[y + 1][x] = A0[c + nx];
        }
        __syncthreads();
        if (mine)
            Anext[c] = t[y][x - 1] + t[y][x + 1] + t[y - 1][x] + t[y + 1][x] + bottom + top
                     - 6.0f * middle / (fac * fac);
        bottom = middle;
        middle = top;
    }
}
