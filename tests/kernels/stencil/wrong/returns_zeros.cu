// %%cuda stencil.naive --block 32 8
// Fault, line 8: writes zero everywhere.
extern "C" __global__ void block2D_naive(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i > 0 && i < nx - 1 && j > 0 && j < ny - 1)
        for (int k = 1; k < nz - 1; ++k)
            Anext[i + nx * (j + ny * k)] = 0.0f;
}
