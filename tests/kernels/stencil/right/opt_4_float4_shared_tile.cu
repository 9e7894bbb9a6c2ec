// %%cuda stencil.opt_4 --block 8 4 --tile 4 1 4
// opt_4: rows of float4 in two shared tiles used alternately (one barrier per frame), z rolled in registers.
extern "C" __global__ void block2D_opt_4(float fac, const float* __restrict__ A0, float* __restrict__ Anext,
                                         int nx, int ny, int nz)
{
    constexpr int W = 4 * BLOCK_X;
    __shared__ __align__(16) float tile[2][BLOCK_Y + 2][W + 8];    // 4 + W + 4: cells stay on 16 bytes
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int x = 4 * (blockIdx.x * BLOCK_X + tx), y = blockIdx.y * BLOCK_Y + ty;
    const int first = max(1, (int)blockIdx.z * TILE_Z), last = min(nz - 1, ((int)blockIdx.z + 1) * TILE_Z);
    const bool wide = nx % 4 == 0, row = y >= 1 && y < ny - 1;
    const int frame = nx * ny;
    const float weight = 6.0f / (fac * fac);
    auto fetch = [&](int i, bool there) {
        float4 v = {0.0f, 0.0f, 0.0f, 0.0f};
        if (!there || x >= nx) return v;
        if (wide) return *(const float4*)(A0 + i);
        v.x = A0[i];
        if (x + 1 < nx) v.y = A0[i + 1];
        if (x + 2 < nx) v.z = A0[i + 2];
        if (x + 3 < nx) v.w = A0[i + 3];
        return v;
    };
    int i = x + nx * y + frame * first;
    if (first >= last) return;                           // the whole block
    float4 below = fetch(i - frame, row), here = fetch(i, y < ny);
    for (int z = first, s = 0; z < last; ++z, s ^= 1) {
        float4 above = fetch(i + frame, y < ny);
        float (*now)[W + 8] = tile[s];
        *(float4*)&now[ty + 1][4 + 4 * tx] = here;
        if (ty == 0) *(float4*)&now[0][4 + 4 * tx] = fetch(i - nx, y >= 1 && y < ny);
        if (ty == BLOCK_Y - 1) *(float4*)&now[BLOCK_Y + 1][4 + 4 * tx] = fetch(i + nx, y < ny - 1);
        if (tx == 0) now[ty + 1][3] = row && x > 0 ? A0[i - 1] : 0.0f;
        if (tx == BLOCK_X - 1) now[ty + 1][4 + W] = row && x + 4 < nx ? A0[i + 4] : 0.0f;
        __syncthreads();                                 // two tiles in turn: one barrier is enough
        if (row && x < nx) {
            float4 south = *(float4*)&now[ty][4 + 4 * tx], north = *(float4*)&now[ty + 2][4 + 4 * tx];
            float left = now[ty + 1][3 + 4 * tx], right = now[ty + 1][8 + 4 * tx];
            float4 sum;
            sum.x = below.x + above.x + south.x + north.x + left + here.y - weight * here.x;
            sum.y = below.y + above.y + south.y + north.y + here.x + here.z - weight * here.y;
            sum.z = below.z + above.z + south.z + north.z + here.y + here.w - weight * here.z;
            sum.w = below.w + above.w + south.w + north.w + here.z + right - weight * here.w;
            if (wide && x > 0 && x + 4 < nx) *(float4*)(Anext + i) = sum;
            else {
                if (x > 0 && x < nx - 1) Anext[i] = sum.x;
                if (x + 1 < nx - 1) Anext[i + 1] = sum.y;
                if (x + 2 < nx - 1) Anext[i + 2] = sum.z;
                if (x + 3 < nx - 1) Anext[i + 3] = sum.w;
            }
        }
        below = here; here = above; i += frame;
    }
}
