// %%cuda stencil.opt_4 --block 8 4 --tile 4 1 4
// opt_4: a ring of four frames in shared memory; the next one is copied by asynchronous 16-byte copies.
#include <cuda_pipeline.h>
extern "C" __global__ void block2D_opt_4(float fac, const float* __restrict__ A0, float* __restrict__ Anext,
                                         int nx, int ny, int nz)
{
    constexpr int W = 4 * BLOCK_X, LINE = W + 8, CELLS = (BLOCK_Y + 2) * (BLOCK_X + 2), DEPTH = 4;
    __shared__ __align__(16) float ring[DEPTH][BLOCK_Y + 2][LINE];
    const int tx = threadIdx.x, ty = threadIdx.y, me = tx + BLOCK_X * ty;
    const int x0 = W * blockIdx.x, y0 = BLOCK_Y * blockIdx.y;
    const int x = x0 + 4 * tx, y = y0 + ty;
    const int first = max(1, (int)blockIdx.z * TILE_Z), last = min(nz - 1, ((int)blockIdx.z + 1) * TILE_Z);
    const bool wide = nx % 4 == 0;
    const int frame = nx * ny;
    const float weight = 6.0f / (fac * fac);
    if (first >= last) return;
    auto order = [&](int z) {                            // frame z with its halo, on its way
        if (z <= last)
#pragma unroll 1
            for (int c = me; c < CELLS; c += BLOCK_X * BLOCK_Y) {
                int u = c % (BLOCK_X + 2), v = c / (BLOCK_X + 2);
                int gx = x0 + 4 * u - 4, gy = y0 + v - 1;
                float* to = &ring[z % DEPTH][v][4 * u];
                const float* from = A0 + gx + nx * gy + frame * z;
                if (gx < 0 || gx >= nx || gy < 0 || gy >= ny) continue;
                if (wide) __pipeline_memcpy_async(to, from, 16);
                else
#pragma unroll 1
                    for (int s = 0; s < 4 && gx + s < nx; ++s) __pipeline_memcpy_async(to + s, from + s, 4);
            }
        __pipeline_commit();
    };
    int i = x + nx * y + frame * first;
#pragma unroll 1
    for (int z = first - 3; z < last; ++z) {             // the first three times, only to order
        if (z < first) {
            order(z + 2);
            continue;
        }
        __pipeline_wait_prior(0);
        __syncthreads();                                 // frames z - 1, z, z + 1 are here; z - 2 is free
        order(z + 2);
        if (x < nx && y >= 1 && y < ny - 1) {
            const float (*now)[LINE] = ring[z % DEPTH];
            const int u = 4 + 4 * tx, v = ty + 1;
            float4 here = *(const float4*)&now[v][u];
            float4 south = *(const float4*)&now[v - 1][u], north = *(const float4*)&now[v + 1][u];
            float4 below = *(const float4*)&ring[(z + DEPTH - 1) % DEPTH][v][u];
            float4 above = *(const float4*)&ring[(z + 1) % DEPTH][v][u];
            float left = now[v][u - 1], right = now[v][u + 4];
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
        i += frame;
    }
}
