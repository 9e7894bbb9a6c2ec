// %%cuda stencil.opt_1 --block 32 8
__global__ void block2D_opt_1(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    __shared__ float tile[BLOCK_Y][BLOCK_X];
    int x = threadIdx.x, y = threadIdx.y;
    int i = blockIdx.x * BLOCK_X + x;
    int j = blockIdx.y * BLOCK_Y + y;

    for (int k = 1; k < nz - 1; k++) {
        int c = i + NX * (j + ny * k);
        if (i < nx && j < ny)
            tile[y][x] = A0[c]
        __syncthreads();
        if (i > 0 && i < nx - 1 && j > 0 && j < ny - 1)
            Anext[c] = A0[c - 1] + A0[c + 1] + A0[c - nx] + A0[c + nx]
                     + A0[c - nx * ny] + A0[c + nx * ny] - 6.0f * tile[y][x] / (fac * fac);
        __syncthreads();
    }
}
