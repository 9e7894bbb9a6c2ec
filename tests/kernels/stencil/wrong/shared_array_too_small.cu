// %%cuda stencil.opt_1 --block 32 8
// Fault, line 11: the tile has BLOCK_Y rows, and this row index goes up to BLOCK_Y. values: may be right
extern "C" __global__ void block2D_opt_1(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    __shared__ float tile[BLOCK_Y][BLOCK_X + 2];
    const int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    const int i = blockIdx.x * BLOCK_X + threadIdx.x, j = blockIdx.y * BLOCK_Y + threadIdx.y;
    const int frame = nx * ny;
    for (int k = 1; k < nz - 1; ++k) {
        const int c = i + nx * j + frame * k;
        tile[ty][tx] = i < nx && j < ny ? A0[c] : 0.0f;
        __syncthreads();
        if (i > 0 && i < nx - 1 && j > 0 && j < ny - 1) {
            float sum = A0[c - frame] + A0[c + frame];
            sum += tx > 1 ? tile[ty][tx - 1] : A0[c - 1];
            sum += tx < BLOCK_X ? tile[ty][tx + 1] : A0[c + 1];
            sum += ty > 1 ? tile[ty - 1][tx] : A0[c - nx];
            sum += ty < BLOCK_Y ? tile[ty + 1][tx] : A0[c + nx];
            Anext[c] = sum - 6.0f * tile[ty][tx] / (fac * fac);
        }
        __syncthreads();
    }
}
