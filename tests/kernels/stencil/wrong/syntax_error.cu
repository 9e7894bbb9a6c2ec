// %%cuda stencil.naive --block 32 8
// Fault, line 5: a semicolon is missing at the end.
extern "C" __global__ void block2D_naive(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i > 0 && i < nx - 1 && j > 0 && j < ny - 1)
        Anext[i + nx * j] = fac * A0[i + nx * j];
}
