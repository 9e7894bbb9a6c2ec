// %%cuda stencil.opt_1 --block 24 5
// The tile holds the points of the block; neighbours outside of it are read from global memory.
__global__ void block2D_opt_1(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    __shared__ float own[BLOCK_Y][BLOCK_X];
    const int x = threadIdx.x, y = threadIdx.y;
    const int i = blockIdx.x * BLOCK_X + x;
    const int j = blockIdx.y * BLOCK_Y + y;
    const bool computes = i > 0 && i < nx - 1 && j > 0 && j < ny - 1;

    for (int k = 1; k < nz - 1; k++) {
        const int at = i + nx * (j + ny * k);
        if (i < nx && j < ny) own[y][x] = A0[at];
        __syncthreads();
        if (computes) {
            float sum = A0[at - nx * ny] + A0[at + nx * ny];
            sum += x > 0 ? own[y][x - 1] : A0[at - 1];
            sum += x + 1 < BLOCK_X ? own[y][x + 1] : A0[at + 1];
            sum += y > 0 ? own[y - 1][x] : A0[at - nx];
            sum += y + 1 < BLOCK_Y ? own[y + 1][x] : A0[at + nx];
            Anext[at] = sum - 6.0f * own[y][x] / (fac * fac);
        }
        __syncthreads();
    }
}
