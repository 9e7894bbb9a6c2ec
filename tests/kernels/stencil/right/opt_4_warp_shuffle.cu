// %%cuda stencil.opt_4 --block 32 4 --tile 1 1 16
// opt_4: x neighbours come from the warp's other lanes by shuffle; only lanes 0 and 31 load their outer one.
extern "C" __global__ void block2D_opt_4(float fac, const float* __restrict__ A0, float* __restrict__ Anext,
                                         int nx, int ny, int nz)
{
    const int lane = threadIdx.x, i = blockIdx.x * 32 + lane, j = blockIdx.y * BLOCK_Y + threadIdx.y;
    if (j < 1 || j >= ny - 1) return;   // a whole warp, since a warp is one row
    const int k0 = max(1, (int)blockIdx.z * TILE_Z), k1 = min(nz - 1, (int)(blockIdx.z + 1) * TILE_Z);
    const bool exists = i < nx, inner = i > 0 && i < nx - 1;
    const size_t frame = (size_t)nx * ny;
    size_t c = (size_t)i + (size_t)nx * j + frame * k0;
    float bottom = exists && k0 < k1 ? A0[c - frame] : 0.0f, centre = exists && k0 < k1 ? A0[c] : 0.0f;

    for (int k = k0; k < k1; ++k, c += frame) {
        const float top = exists ? A0[c + frame] : 0.0f;
        float left = __shfl_up_sync(0xffffffffu, centre, 1);
        float right = __shfl_down_sync(0xffffffffu, centre, 1);
        if (inner) {
            if (lane == 0) left = A0[c - 1];
            if (lane == 31) right = A0[c + 1];
            Anext[c] = left + right + A0[c - nx] + A0[c + nx] + bottom + top - 6.0f * centre / (fac * fac);
        }
        bottom = centre;
        centre = top;
    }
}
