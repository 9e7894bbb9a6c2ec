// %%cuda stencil.opt_1 --block 32 8
// Fault, line 9: threads of boundary points return before the barrier, and the points they should load are missing.
extern "C" __global__ void block2D_opt_1(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    __shared__ float tile[BLOCK_Y + 2][BLOCK_X + 2];
    const int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    const int i = blockIdx.x * BLOCK_X + threadIdx.x, j = blockIdx.y * BLOCK_Y + threadIdx.y;
    const int frame = nx * ny;
    if (i < 1 || i >= nx - 1 || j < 1 || j >= ny - 1) return;
    for (int k = 1; k < nz - 1; ++k) {
        const int c = i + nx * j + frame * k;
        tile[ty][tx] = A0[c];
        if (tx == 1) tile[ty][0] = A0[c - 1];
        if (tx == BLOCK_X) tile[ty][BLOCK_X + 1] = A0[c + 1];
        if (ty == 1) tile[0][tx] = A0[c - nx];
        if (ty == BLOCK_Y) tile[BLOCK_Y + 1][tx] = A0[c + nx];
        __syncthreads();
        Anext[c] = tile[ty][tx - 1] + tile[ty][tx + 1] + tile[ty - 1][tx] + tile[ty + 1][tx]
                 + A0[c - frame] + A0[c + frame] - 6.0f * tile[ty][tx] / (fac * fac);
        __syncthreads();
    }
}
