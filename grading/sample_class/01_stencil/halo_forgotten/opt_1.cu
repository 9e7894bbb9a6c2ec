// %%cuda stencil.opt_1 --block 16 16
// The halo is allocated but never filled.
__global__ void block2D_opt_1(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    __shared__ float s[BLOCK_Y + 2][BLOCK_X + 2];
    int i = blockIdx.x * BLOCK_X + threadIdx.x;
    int j = blockIdx.y * BLOCK_Y + threadIdx.y;
    int x = threadIdx.x + 1, y = threadIdx.y + 1;

    for (int k = 1; k < nz - 1; k++) {
        int c = i + nx * j + nx * ny * k;
        if (i < nx && j < ny) s[y][x] = A0[c];
        __syncthreads();
        if (i > 0 && i < nx - 1 && j > 0 && j < ny - 1)
            Anext[c] = s[y][x - 1] + s[y][x + 1] + s[y - 1][x] + s[y + 1][x]
                     + A0[c - nx * ny] + A0[c + nx * ny] - 6.0f * s[y][x] / (fac * fac);
        __syncthreads();
    }
}
