// %%cuda stencil.naive --block 32 8
// Naive: unsigned indices, so that i - 1 wraps at 0 and one comparison guards both ends of an axis.
extern "C" __global__ void block2D_naive(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    unsigned i = blockIdx.x * BLOCK_X + threadIdx.x;
    unsigned j = blockIdx.y * BLOCK_Y + threadIdx.y;
    unsigned inner_x = nx - 2, inner_y = ny - 2, frames = nz;
    bool inside = (i - 1u < inner_x) & (j - 1u < inner_y);

    for (unsigned k = 1; k + 1 < frames; ++k) {
        if (!inside) continue;
        unsigned c = (k * ny + j) * nx + i;
        float sum = 0.0f;
        sum += A0[c - 1u];
        sum += A0[c + 1u];
        sum += A0[c - (unsigned)nx];
        sum += A0[c + (unsigned)nx];
        sum += A0[c - (unsigned)nx * (unsigned)ny];
        sum += A0[c + (unsigned)nx * (unsigned)ny];
        Anext[c] = sum - (6.0f * A0[c]) / (fac * fac);
    }
}
