// %%cuda stencil.naive --block 16 16
// Fault, line 8: the first inner frame is 1, and the loop starts at 2.
extern "C" __global__ void block2D_naive(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    int frame = nx * ny;
    if (i < 1 || j < 1 || i >= nx - 1 || j >= ny - 1) return;
    int k = 2;
    while (k < nz - 1) {
        int c = i + nx * j + frame * k;
        Anext[c] = A0[c - 1] + A0[c + 1] + A0[c - nx] + A0[c + nx] + A0[c - frame] + A0[c + frame]
                 - 6.0f * A0[c] / (fac * fac);
        k++;
    }
}
