// %%cuda stencil.opt_4 --block 32 8 --tile 1 1 4
// Fault, line 8: each block of four frames leaves out its first one, as if it were on the boundary.
extern "C" __global__ void block2D_opt_4(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    const int i = blockIdx.x * BLOCK_X + threadIdx.x, j = blockIdx.y * BLOCK_Y + threadIdx.y;
    const int frame = nx * ny;
    if (i < 1 || j < 1 || i >= nx - 1 || j >= ny - 1) return;
    const int first = blockIdx.z * TILE_Z + 1, last = min(nz - 1, (int)(blockIdx.z + 1) * TILE_Z);
    for (int k = first; k < last; ++k) {
        const int c = i + nx * j + frame * k;
        Anext[c] = A0[c - 1] + A0[c + 1] + A0[c - nx] + A0[c + nx] + A0[c - frame] + A0[c + frame]
                 - 6.0f * A0[c] / (fac * fac);
    }
}
