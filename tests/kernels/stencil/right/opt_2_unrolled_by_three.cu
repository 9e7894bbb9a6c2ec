// %%cuda stencil.opt_2 --block 24 5
// opt_2: three registers change roles (bottom, centre, top) in a loop unrolled by three: no copies.
#define STEP(BOTTOM, CENTRE, TOP)                                                                      \
    {                                                                                                  \
        at += frame;                                                                                   \
        if (exists) {                                                                                  \
            TOP = A0[at + frame];                                                                      \
            tile[ty][tx] = CENTRE;                                                                     \
            if (tx == 1 && i > 0) tile[ty][0] = A0[at - 1];                                            \
            if (tx == BLOCK_X && i < nx - 1) tile[ty][BLOCK_X + 1] = A0[at + 1];                       \
            if (ty == 1 && j > 0) tile[0][tx] = A0[at - nx];                                           \
            if (ty == BLOCK_Y && j < ny - 1) tile[BLOCK_Y + 1][tx] = A0[at + nx];                      \
        }                                                                                              \
        __syncthreads();                                                                               \
        if (inner)                                                                                     \
            Anext[at] = tile[ty][tx - 1] + tile[ty][tx + 1] + tile[ty - 1][tx] + tile[ty + 1][tx]      \
                      + BOTTOM + TOP - weight * CENTRE;                                                \
        __syncthreads();                                                                               \
    }

extern "C" __global__ void block2D_opt_2(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    __shared__ float tile[BLOCK_Y + 2][BLOCK_X + 2];
    const int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    const int i = blockIdx.x * BLOCK_X + threadIdx.x, j = blockIdx.y * BLOCK_Y + threadIdx.y;
    const int frame = nx * ny;
    const bool exists = i < nx && j < ny, inner = i > 0 && i < nx - 1 && j > 0 && j < ny - 1;
    const float weight = 6.0f / (fac * fac);
    int at = i + nx * j;
    float a = 0.0f, b = 0.0f, c = 0.0f;
    if (exists) { a = A0[at]; b = A0[at + frame]; }

    int left = nz - 2;
    for (; left >= 3; left -= 3) {
        STEP(a, b, c)
        STEP(b, c, a)
        STEP(c, a, b)
    }
    if (left >= 1) STEP(a, b, c)
    if (left >= 2) STEP(b, c, a)
}
