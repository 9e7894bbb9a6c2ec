// %%cuda stencil.opt_1 --block 32 8
#define LOAD(n) A0[n]
__global__ void block2D_opt_1(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    const int x = blockIdx.x * BLOCK_X + threadIdx.x, y = blockIdx.y * BLOCK_Y + threadIdx.y;
    const int frame = nx * ny;
    if (x > 0 && x < nx - 1 && y > 0 && y < ny - 1)
        for (int z = 1; z < nz - 1; ++z) {
            const int i = x + nx * y + frame * z;
            Anext[i] = LOAD(i - 1) + LOAD(i + 1) + LOAD(i - nx) + LOAD(i + nx) + LOAD(i - frame) + LOAD(i + frame)
                     - 6.0f * LOAD(i) / (fac * fac);
        }
}
