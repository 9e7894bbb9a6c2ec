// %%cuda stencil.naive --block 24 5
// Naive: every index and stride is a size_t, in a block of 120 threads whose last warp is not full.
extern "C" __global__ void block2D_naive(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    const size_t sx = 1, sy = (size_t)nx, sz = (size_t)nx * (size_t)ny;
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    const size_t j = (size_t)blockIdx.y * blockDim.y + threadIdx.y;
    const bool inner = i >= 1 && j >= 1 && i + 1 < (size_t)nx && j + 1 < (size_t)ny;
    if (inner)
        for (size_t k = 1; k < (size_t)nz - 1; k++) {
            const size_t at = i * sx + j * sy + k * sz;
            Anext[at] = A0[at - sx] + A0[at + sx]
                      + A0[at - sy] + A0[at + sy]
                      + A0[at - sz] + A0[at + sz]
                      - 6.0f * A0[at] / (fac * fac);
        }
}
