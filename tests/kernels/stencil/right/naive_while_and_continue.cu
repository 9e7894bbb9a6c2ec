// %%cuda stencil.naive --block 1 32
// Naive: a column of 32 threads along y, a while loop over all frames, and continue on the boundary.
extern "C" __global__ void block2D_naive(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    int i = blockIdx.x, j = blockIdx.y * 32 + threadIdx.y, k = -1;
    while (++k < nz) {
        if (k == 0 || k == nz - 1) continue;
        if (i == 0 || i == nx - 1) continue;
        if (j == 0 || j >= ny - 1) continue;
        int c = i + nx * (j + ny * k);
        float r = -6.0f * A0[c] / (fac * fac);
        r += A0[c + nx * ny];
        r += A0[c - nx * ny];
        r += A0[c + nx];
        r += A0[c - nx];
        r += A0[c + 1];
        r += A0[c - 1];
        Anext[c] = r;
    }
}
