// %%cuda stencil.naive --block 32 8
// Fault, line 12: one thread of each row steps over the loop's end and goes on forever; the others end.
extern "C" __global__ void block2D_naive(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    int frame = nx * ny, k = 1;
    if (i < 1 || i >= nx - 1 || j < 1 || j >= ny - 1) return;
    while (k != nz - 1) {
        int c = i + nx * j + frame * min(k, nz - 2);
        Anext[c] = A0[c - 1] + A0[c + 1] + A0[c - nx] + A0[c + nx] + A0[c - frame] + A0[c + frame]
                 - 6.0f * A0[c] / (fac * fac);
        k += i == 3 ? 0 : 1;
    }
}
