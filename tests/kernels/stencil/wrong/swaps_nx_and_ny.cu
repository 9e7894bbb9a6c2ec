// %%cuda stencil.naive --block 32 8
// Fault, line 3: rows are ny apart in this index, and must be nx apart; the product stays inside the array.
#define AT(A, x, y, z) A[((z) * nx + (x)) * ny + (y)]
extern "C" __global__ void block2D_naive(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i > 0 && i < nx - 1 && j > 0 && j < ny - 1)
        for (int k = 1; k < nz - 1; ++k)
            AT(Anext, i, j, k) = AT(A0, i - 1, j, k) + AT(A0, i + 1, j, k) + AT(A0, i, j - 1, k)
                + AT(A0, i, j + 1, k) + AT(A0, i, j, k - 1) + AT(A0, i, j, k + 1)
                - 6.0f * AT(A0, i, j, k) / (fac * fac);
}
