// %%cuda stencil.naive --block 128 1
// Naive: __restrict__ pointers and __ldg, so that every load goes through the read-only path.
extern "C" __global__ void __launch_bounds__(BLOCK_X * BLOCK_Y)
block2D_naive(float fac, const float* __restrict__ A0, float* __restrict__ Anext, int nx, int ny, int nz)
{
    const int i = blockIdx.x * BLOCK_X + threadIdx.x;
    const int j = blockIdx.y;
    const int frame = nx * ny;
    if (i < 1 || i >= nx - 1 || j < 1 || j >= ny - 1) return;

    const float w = __fdividef(6.0f, fac * fac);
#pragma unroll 4
    for (int k = 1; k < nz - 1; ++k) {
        const float* p = A0 + (k * frame + j * nx + i);
        float acc = __ldg(p - 1) + __ldg(p + 1);
        acc += __ldg(p - nx) + __ldg(p + nx);
        acc += __ldg(p - frame) + __ldg(p + frame);
        Anext[k * frame + j * nx + i] = fmaf(-w, __ldg(p), acc);
    }
}
