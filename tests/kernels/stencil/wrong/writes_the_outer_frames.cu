// %%cuda stencil.naive --block 32 8
// Fault, line 8: sets frames 0 and nz - 1 of the output to zero, which belong to the boundary.
extern "C" __global__ void block2D_naive(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    int frame = nx * ny, c = i + nx * j;
    if (i < 1 || j < 1 || i >= nx - 1 || j >= ny - 1) return;
    Anext[c] = Anext[c + frame * (nz - 1)] = 0.0f;
    for (int k = 1; k < nz - 1; ++k) {
        c += frame;
        Anext[c] = A0[c - 1] + A0[c + 1] + A0[c - nx] + A0[c + nx] + A0[c - frame] + A0[c + frame]
                 - 6.0f * A0[c] / (fac * fac);
    }
}
