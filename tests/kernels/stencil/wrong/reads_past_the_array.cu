// %%cuda stencil.naive --block 32 8
// Fault, line 11: prefetches the frame after next, and in the last step there is none. values: may be right
extern "C" __global__ void block2D_naive(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    int frame = nx * ny;
    if (i < 1 || i >= nx - 1 || j < 1 || j >= ny - 1) return;
    int c = i + nx * j + frame;
    float bottom = A0[c - frame], centre = A0[c], top = A0[c + frame];
    for (int k = 1; k < nz - 1; ++k, c += frame) {
        float ahead = A0[c + 2 * frame];
        Anext[c] = A0[c - 1] + A0[c + 1] + A0[c - nx] + A0[c + nx] + bottom + top - 6.0f * centre / (fac * fac);
        bottom = centre;
        centre = top;
        top = ahead;
    }
}
