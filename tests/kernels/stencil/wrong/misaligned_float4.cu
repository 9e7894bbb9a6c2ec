// %%cuda stencil.opt_4 --block 8 8 --tile 4 1 0
// Fault, line 13: a float4 load that starts one float after a 16-byte boundary.
extern "C" __global__ void block2D_opt_4(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    const int i = 4 * (blockIdx.x * BLOCK_X + threadIdx.x), j = blockIdx.y * BLOCK_Y + threadIdx.y;
    const int frame = nx * ny;
    if (j < 1 || j >= ny - 1) return;
    for (int k = 1; k < nz - 1; ++k) {
        const int c = i + nx * j + frame * k;
        float right[4] = {0.0f, 0.0f, 0.0f, 0.0f};
        if (i + 4 < nx) {
            const int even = c & ~3;   // a boundary, whatever nx is
            const float4 v = *(const float4*)(A0 + even + 1);
            const float ahead[8] = {v.x, v.y, v.z, v.w, A0[even + 5], A0[even + 6], A0[even + 7], 0.0f};
            for (int s = 0; s < 4; ++s) right[s] = ahead[c - even + s];
        } else {
            for (int s = 0; s < 4 && i + s + 1 < nx; ++s) right[s] = A0[c + s + 1];
        }
        for (int s = 0; s < 4; ++s)
            if (i + s > 0 && i + s < nx - 1)
                Anext[c + s] = A0[c + s - 1] + right[s] + A0[c + s - nx] + A0[c + s + nx]
                             + A0[c + s - frame] + A0[c + s + frame] - 6.0f * A0[c + s] / (fac * fac);
    }
}
