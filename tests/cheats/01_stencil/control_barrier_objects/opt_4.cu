// %%cuda stencil.opt_4 --block 32 4 --tile 4 2 0
// Four points side by side and two rows of a thread; scalar loads where rows are not aligned.
__global__ void block2D_opt_4(float fac, const float* __restrict__ A0, float* __restrict__ Anext, int nx, int ny, int nz)
{
    const int x = 4 * (blockIdx.x * BLOCK_X + threadIdx.x), y0 = 2 * (blockIdx.y * BLOCK_Y + threadIdx.y);
    if (x >= nx || y0 >= ny) return;
    const float w = 6.0f / (fac * fac);
    const size_t frame = (size_t)nx * ny;
    const bool wide = (nx & 3) == 0;
    auto get = [&](const float* f, int y, float (&v)[4]) {
        if (y < 0 || y >= ny) return;
        const float* q = f + (size_t)nx * y + x;
        if (wide) { float4 r = *(const float4*)q; v[0] = r.x; v[1] = r.y; v[2] = r.z; v[3] = r.w; }
        else for (int u = 0; u < 4; ++u) v[u] = x + u < nx ? q[u] : 0.0f;
    };
    float low[2][4] = {}, mid[4][4] = {}, top[2][4] = {};
    for (int r = 0; r < 2; ++r) { get(A0, y0 + r, low[r]); get(A0 + frame, y0 + r, mid[r + 1]); }
    for (int z = 1; z < nz - 1; ++z) {
        const float* f = A0 + frame * z;
        get(f, y0 - 1, mid[0]); get(f, y0 + 2, mid[3]);
        for (int r = 0; r < 2; ++r) get(f + frame, y0 + r, top[r]);
        #pragma unroll
        for (int r = 0; r < 2; ++r) {
            int y = y0 + r;
            if (y < 1 || y >= ny - 1) continue;
            float left = x > 0 ? f[(size_t)nx * y + x - 1] : 0.0f, right = x + 4 < nx ? f[(size_t)nx * y + x + 4] : 0.0f;
            float v[4];
            #pragma unroll
            for (int u = 0; u < 4; ++u)
                v[u] = low[r][u] + top[r][u] + mid[r][u] + mid[r + 2][u] + (u ? mid[r + 1][u - 1] : left) + (u < 3 ? mid[r + 1][u + 1] : right) - w * mid[r + 1][u];
            float* out = Anext + frame * z + (size_t)nx * y + x;
            if (wide && x > 0 && x + 4 < nx) *(float4*)out = make_float4(v[0], v[1], v[2], v[3]);
            else for (int u = 0; u < 4; ++u) if (x + u > 0 && x + u < nx - 1) out[u] = v[u];
        }
        #pragma unroll
        for (int r = 0; r < 2; ++r)
            #pragma unroll
            for (int u = 0; u < 4; ++u) { low[r][u] = mid[r + 1][u]; mid[r + 1][u] = top[r][u]; }
    }
}
