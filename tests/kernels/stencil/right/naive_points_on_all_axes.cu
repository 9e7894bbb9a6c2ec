// %%cuda stencil.naive --block 8 8 2 --tile 3 2 5
// naive: points per thread on all three axes, in loops whose bounds are known only when the kernel runs.
extern "C" __global__ void block2D_naive(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    const int x0 = (blockIdx.x * blockDim.x + threadIdx.x) * TILE_X, x1 = min(x0 + TILE_X, nx - 1);
    const int y0 = (blockIdx.y * blockDim.y + threadIdx.y) * TILE_Y, y1 = min(y0 + TILE_Y, ny - 1);
    const int z0 = (blockIdx.z * blockDim.z + threadIdx.z) * TILE_Z, z1 = min(z0 + TILE_Z, nz - 1);
    for (int z = max(z0, 1); z < z1; ++z)
        for (int y = max(y0, 1); y < y1; ++y)
            for (int x = max(x0, 1); x < x1; ++x) {
                const long long c = x + (long long)nx * (y + (long long)ny * z);
                const long long plane = (long long)nx * ny;
                const float flat = (A0[c - 1] + A0[c + 1]) + (A0[c - nx] + A0[c + nx]);
                Anext[c] = flat + (A0[c - plane] + A0[c + plane]) - 6.0f * A0[c] / (fac * fac);
            }
}
