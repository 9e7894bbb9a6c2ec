// %%cuda stencil.naive --block 32 8 --tile 1 1 4
// naive: z is split over blocks, four frames each, with rolling registers inside a chunk; seven plain accesses.
extern "C" __global__ void block2D_naive(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    const int i = blockIdx.x * BLOCK_X + threadIdx.x, j = blockIdx.y * BLOCK_Y + threadIdx.y;
    const int frame = nx * ny;
    int k = blockIdx.z * TILE_Z, end = k + TILE_Z;
    if (k == 0) k = 1;
    if (end > nz - 1) end = nz - 1;
    if (i < 1 || j < 1 || i > nx - 2 || j > ny - 2 || k >= end) return;

    int c = i + nx * j + frame * k;
    float bottom = A0[c - frame], centre = A0[c], top;
    for (; k < end; ++k) {
        top = A0[c + frame];
        Anext[c] = A0[c - 1] + A0[c + 1] + A0[c - nx] + A0[c + nx] + bottom + top - 6.0f * centre / (fac * fac);
        bottom = centre;
        centre = top;
        c += frame;
    }
}
