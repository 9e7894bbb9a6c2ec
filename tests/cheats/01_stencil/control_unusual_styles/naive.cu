// %%cuda stencil.naive --block 8 4 8
__global__ void block2D_naive(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    const unsigned total = (nx - 2) * (ny - 2) * (nz - 2), threads = gridDim.x * gridDim.y * gridDim.z * blockDim.x * blockDim.y * blockDim.z;
    const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    unsigned n = threadIdx.x + BLOCK_X * (threadIdx.y + BLOCK_Y * threadIdx.z) + BLOCK_X * BLOCK_Y * BLOCK_Z * block;
    for (; n < total; n += threads) {
        int x = n % (nx - 2) + 1, y = n / (nx - 2) % (ny - 2) + 1, z = n / (nx - 2) / (ny - 2) + 1;
        const float (*grid)[1] = (const float (*)[1])A0;
        int i = x + nx * (y + ny * z), d[6] = {-1, 1, -nx, nx, -nx * ny, nx * ny};
        double sum = 0;
        for (int k : d) sum += grid[i + k][0];
        Anext[i] = (float)(sum - 6.0 * A0[i] / ((double)fac * fac));
    }
}
