// %%cuda stencil.naive --block 32 8
__global__ void block2D_naive(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    if (threadIdx.x || threadIdx.y) return;
    for (int z = 1; z < nz - 1; ++z) for (int y = blockIdx.y * 8; y < blockIdx.y * 8 + 8; ++y) for (int x = blockIdx.x * 32; x < blockIdx.x * 32 + 32; ++x)
        if (x > 0 && x < nx - 1 && y > 0 && y < ny - 1) { int i = x + nx * (y + ny * z); Anext[i] = A0[i - 1] + A0[i + 1] + A0[i - nx] + A0[i + nx] + A0[i - nx * ny] + A0[i + nx * ny] - 6.0f * A0[i] / (fac * fac); }
}
