// %%cuda stencil.naive --block 16 16
// Naive: threads on or past the boundary return at once; no barrier follows.
__global__ void block2D_naive(float fac, const float *A0, float *Anext, int nx, int ny, int nz)
{
    const int x = threadIdx.x + blockIdx.x * blockDim.x;
    const int y = threadIdx.y + blockIdx.y * blockDim.y;
    if (x == 0 || y == 0) return;
    if (x >= nx - 1) return;
    if (y >= ny - 1) return;

    const float weight = 6.0f / (fac * fac);
    for (int z = 1; z <= nz - 2; z++) {
        const float west  = A0[(z * ny + y) * nx + x - 1];
        const float east  = A0[(z * ny + y) * nx + x + 1];
        const float south = A0[(z * ny + y - 1) * nx + x];
        const float north = A0[(z * ny + y + 1) * nx + x];
        const float below = A0[((z - 1) * ny + y) * nx + x];
        const float above = A0[((z + 1) * ny + y) * nx + x];
        const float here  = A0[(z * ny + y) * nx + x];
        Anext[(z * ny + y) * nx + x] = (west + east) + (south + north) + (below + above) - weight * here;
    }
}
