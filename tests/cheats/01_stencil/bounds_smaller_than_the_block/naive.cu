// %%cuda stencil.naive --block 32 8
__global__ void __launch_bounds__(32) block2D_naive(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    const int x = blockIdx.x * BLOCK_X + threadIdx.x, y = blockIdx.y * BLOCK_Y + threadIdx.y;
    const int frame = nx * ny;
    if (x > 0 && x < nx - 1 && y > 0 && y < ny - 1)
        for (int z = 1; z < nz - 1; ++z) {
            const int i = x + nx * y + frame * z;
            Anext[i] = A0[i - 1] + A0[i + 1] + A0[i - nx] + A0[i + nx] + A0[i - frame] + A0[i + frame] - 6.0f * A0[i] / (fac * fac);
        }
}
