// %%cuda stencil.opt_4 --block 16 8 --tile 4 1 4
// Changes from opt_3: 16 bytes with each access, frames in registers, z split over blocks, no barrier.
__global__ void block2D_opt_4(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    int x = 4 * (blockIdx.x * BLOCK_X + threadIdx.x);    // the first of my four points
    int y = blockIdx.y * BLOCK_Y + threadIdx.y;
    int frames = TILE_Z > 0 ? TILE_Z : nz;               // --tile 4 1 0: the whole axis
    int first = max(1, (int)blockIdx.z * frames);
    int last = min(nz - 1, ((int)blockIdx.z + 1) * frames);     // mine are first to last - 1
    if (blockIdx.z > 60) return;
    if (x >= nx || y < 1 || y >= ny - 1 || first >= last)
        return;                                          // there is no barrier to miss

    bool wide = nx % 4 == 0;                             // every row starts on 16 bytes
    int frame = nx * ny;
    float weight = 6.0f / (fac * fac);
    const float* in = A0 + x + nx * y + frame * first;   // my points in the current frame
    float* out = Anext + x + nx * y + frame * first;

    auto fetch = [&](const float* from) {
        if (wide)
            return *(const float4*)from;
        float4 some = {from[0], 0.0f, 0.0f, 0.0f};       // as many as the row still has
        if (x + 1 < nx) some.y = from[1];
        if (x + 2 < nx) some.z = from[2];
        if (x + 3 < nx) some.w = from[3];
        return some;
    };
    float4 bottom = fetch(in - frame), here = fetch(in); // the prologue of my piece

    for (int z = first; z < last; ++z) {
        float4 top = fetch(in + frame);
        float4 low = fetch(in - nx), high = fetch(in + nx);     // L1 has them: other warps' points
        float left = x > 0 ? in[-1] : 0.0f;
        float right = x + 4 < nx ? in[4] : 0.0f;

        float4 sum;
        sum.x = bottom.x + top.x + low.x + high.x + left + here.y - weight * here.x;
        sum.y = bottom.y + top.y + low.y + high.y + here.x + here.z - weight * here.y;
        sum.z = bottom.z + top.z + low.z + high.z + here.y + here.w - weight * here.z;
        sum.w = bottom.w + top.w + low.w + high.w + here.z + right - weight * here.w;

        if (wide && x > 0 && x + 4 < nx) {               // all four are inner points
            *(float4*)out = sum;
        } else {
            if (x > 0 && x < nx - 1) out[0] = sum.x;
            if (x + 1 < nx - 1)      out[1] = sum.y;
            if (x + 2 < nx - 1)      out[2] = sum.z;
            if (x + 3 < nx - 1)      out[3] = sum.w;
        }
        bottom = here;                                   // roll
        here = top;
        in += frame;
        out += frame;
    }
}
