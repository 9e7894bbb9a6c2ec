// %%cuda stencil.opt_2 --block 32 8
// The loop over the frames never increments k.
__global__ void block2D_opt_2(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    __shared__ float current[BLOCK_Y][BLOCK_X];
    int x = threadIdx.x, y = threadIdx.y;
    int i = blockIdx.x * BLOCK_X + x;
    int j = blockIdx.y * BLOCK_Y + y;
    bool loads = i < nx && j < ny;
    bool mine = i > 0 && i < nx - 1 && j > 0 && j < ny - 1;

    int k = 1;
    while (k < nz - 1) {
        int c = (k * ny + j) * nx + i;
        if (loads) current[y][x] = A0[c];
        __syncthreads();
        if (mine) {
            float west = x > 0 ? current[y][x - 1] : A0[c - 1];
            float east = x < BLOCK_X - 1 ? current[y][x + 1] : A0[c + 1];
            float south = y > 0 ? current[y - 1][x] : A0[c - nx];
            float north = y < BLOCK_Y - 1 ? current[y + 1][x] : A0[c + nx];
            Anext[c] = west + east + south + north + A0[c - nx * ny] + A0[c + nx * ny]
                     - 6.0f * current[y][x] / (fac * fac);
        }
        __syncthreads();
    }
}
