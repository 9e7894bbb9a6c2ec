// %%cuda stencil.opt_1 --block 128 1
__global__ void block2D_opt_1(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    int x = blockIdx.x * BLOCK_X + threadIdx.x, y = blockIdx.y, frame = nx * ny;
    if (x < 1 || y < 1 || x >= nx - 1 || y >= ny - 1) return;
    const float* a = A0 + x + nx * y;
    float bottom = a[0], here = a[frame];
    for (int i = frame; i < frame * (nz - 1); i += frame) {
        float top = a[i + frame];
        Anext[x + nx * y + i] = a[i - 1] + a[i + 1] + a[i - nx] + a[i + nx] + bottom + top - 6.0f * here / (fac * fac);
        bottom = here;
        here = top;
    }
}
