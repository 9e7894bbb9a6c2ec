// %%cuda stencil.naive --block 8 8 1
// Naive: an index macro in the style of old course code, in a block named with all three sizes.
#define AT(A, x, y, z) A[(x) + nx * ((y) + ny * (z))]
#define INNER(v, n) ((v) > 0 && (v) < (n) - 1)
#define SQUARE(v) ((v) * (v))

extern "C" __global__ void block2D_naive(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    int i = blockIdx.x * BLOCK_X + threadIdx.x;
    int j = blockIdx.y * BLOCK_Y + threadIdx.y;
    int k;
    if (INNER(i, nx) && INNER(j, ny))
        for (k = 1; k < nz - 1; k++)
            AT(Anext, i, j, k) = AT(A0, i, j, k + 1) + AT(A0, i, j, k - 1) + AT(A0, i, j + 1, k)
                + AT(A0, i, j - 1, k) + AT(A0, i + 1, j, k) + AT(A0, i - 1, j, k)
                - 6.0f * AT(A0, i, j, k) / SQUARE(fac);
}
