// %%cuda stencil.naive --block 32 8
// Fault, line 8: k is never increased; every thread of the grid does frame 1 forever.
extern "C" __global__ void block2D_naive(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    int frame = nx * ny;
    bool inner = i > 0 && i < nx - 1 && j > 0 && j < ny - 1;
    for (int k = 1; k < nz - 1;) {
        int c = i + nx * j + frame * k;
        if (inner)
            Anext[c] = A0[c - 1] + A0[c + 1] + A0[c - nx] + A0[c + nx] + A0[c - frame] + A0[c + frame]
                     - 6.0f * A0[c] / (fac * fac);
    }
}
