// %%cuda stencil.opt_3 --block 32 8 --tile 1 1 0
// Fault, line 7: one output point a thread where two are asked for. values: right, technique: wrong
extern "C" __global__ void block2D_opt_3(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    __shared__ float s[BLOCK_Y + 2][BLOCK_X + 2];
    const int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    const int i = blockIdx.x * BLOCK_X + threadIdx.x, j = blockIdx.y * BLOCK_Y + threadIdx.y;
    const int frame = nx * ny;
    const bool exists = i < nx && j < ny;
    int c = i + nx * j;
    float bottom = exists ? A0[c] : 0.0f, centre = exists ? A0[c + frame] : 0.0f;
    for (int k = 1; k < nz - 1; ++k) {
        c += frame;
        s[ty][tx] = centre;
        const float top = exists ? A0[c + frame] : 0.0f;
        if (exists && tx == 1 && i > 0) s[ty][0] = A0[c - 1];
        if (exists && tx == BLOCK_X && i < nx - 1) s[ty][BLOCK_X + 1] = A0[c + 1];
        if (exists && ty == 1 && j > 0) s[0][tx] = A0[c - nx];
        if (exists && ty == BLOCK_Y && j < ny - 1) s[BLOCK_Y + 1][tx] = A0[c + nx];
        __syncthreads();
        if (i > 0 && i < nx - 1 && j > 0 && j < ny - 1)
            Anext[c] = s[ty][tx - 1] + s[ty][tx + 1] + s[ty - 1][tx] + s[ty + 1][tx] + bottom + top
                     - 6.0f * centre / (fac * fac);
        __syncthreads();
        bottom = centre;
        centre = top;
    }
}
