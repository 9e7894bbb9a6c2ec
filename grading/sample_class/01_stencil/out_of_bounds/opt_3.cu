// %%cuda stencil.opt_3 --block 32 4 --tile 1 2 0
// The second point has no guard, and the loop runs one frame too far.
__global__ void block2D_opt_3(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    int i = blockIdx.x * BLOCK_X + threadIdx.x;
    int j = blockIdx.y * BLOCK_Y * 2 + threadIdx.y;
    int j2 = j + BLOCK_Y;

    for (int k = 1; k < nz; k++) {
        if (i > 0 && i < nx - 1 && j > 0 && j < ny - 1 && k < nz - 1) {
            int c = (k * ny + j) * nx + i;
            Anext[c] = A0[c - 1] + A0[c + 1] + A0[c - nx] + A0[c + nx] + A0[c - nx * ny] + A0[c + nx * ny]
                     - 6.0f * A0[c] / (fac * fac);
        }
        int c2 = (k * ny + j2) * nx + i;
        float sum = 0.0f;
        if (i > 0 && i < nx - 1 && j2 < ny - 1 && k < nz - 1)
            sum = A0[c2 - 1] + A0[c2 + 1] + A0[c2 - nx] + A0[c2 + nx] + A0[c2 - nx * ny] + A0[c2 + nx * ny]
                - 6.0f * A0[c2] / (fac * fac);
        Anext[c2] = sum;
    }
}
