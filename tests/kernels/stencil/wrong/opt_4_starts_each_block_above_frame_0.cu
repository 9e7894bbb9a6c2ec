// %%cuda stencil.opt_4 --block 16 8 --tile 4 1 8
// Fault, line 27: each block of frames starts with frame 0 below it, not with the frame below its first.
__device__ __forceinline__ void load4(float (&r)[4], const float* p, int n, bool aligned)
{
    if (aligned && n >= 4) {
        const float4 v = *reinterpret_cast<const float4*>(p);
        r[0] = v.x; r[1] = v.y; r[2] = v.z; r[3] = v.w;
    } else {
        for (int s = 0; s < 4; ++s) r[s] = s < n ? p[s] : 0.0f;
    }
}

extern "C" __global__ void block2D_opt_4(float fac, const float* __restrict__ A0, float* __restrict__ Anext,
                                         int nx, int ny, int nz)
{
    const int i = 4 * (blockIdx.x * BLOCK_X + threadIdx.x), j = blockIdx.y * BLOCK_Y + threadIdx.y;
    const int first = max(1, (int)blockIdx.z * TILE_Z), last = min(nz - 1, ((int)blockIdx.z + 1) * TILE_Z);
    if (i >= nx || j < 1 || j >= ny - 1 || first >= last) return;

    const bool aligned = nx % 4 == 0;   // then every row starts on 16 bytes
    const int here = nx - i;            // how many of the four points exist
    const size_t frame = (size_t)nx * ny;
    const float weight = 6.0f / (fac * fac);
    const float* p = A0 + first * frame + (size_t)j * nx + i;
    float* out = Anext + first * frame + (size_t)j * nx + i;
    float bottom[4], centre[4], top[4], front[4], back[4];
    load4(bottom, A0 + (size_t)j * nx + i, here, aligned);
    load4(centre, p, here, aligned);

    for (int k = first; k < last; ++k, p += frame, out += frame) {
        load4(top, p + frame, here, aligned);
        load4(front, p - nx, here, aligned);
        load4(back, p + nx, here, aligned);
        const float before = i > 0 ? p[-1] : 0.0f, after = here > 4 ? p[4] : 0.0f;
        float r[4];
#pragma unroll
        for (int s = 0; s < 4; ++s) {
            const float left = s == 0 ? before : centre[s == 0 ? 0 : s - 1];
            const float right = s == 3 ? after : centre[s == 3 ? 3 : s + 1];
            r[s] = left + right + front[s] + back[s] + bottom[s] + top[s] - weight * centre[s];
        }
        if (aligned && i > 0 && here > 4) {
            *reinterpret_cast<float4*>(out) = make_float4(r[0], r[1], r[2], r[3]);
        } else {
            for (int s = 0; s < 4; ++s)
                if (i + s > 0 && i + s < nx - 1) out[s] = r[s];
        }
#pragma unroll
        for (int s = 0; s < 4; ++s) { bottom[s] = centre[s]; centre[s] = top[s]; }
    }
}
