// %%cuda stencil.opt_2 --block 24 5
// The frames below and above in registers, the current one in shared memory, other neighbours in global memory.
__global__ void block2D_opt_2(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    __shared__ float current[BLOCK_Y][BLOCK_X];
    const int x = threadIdx.x, y = threadIdx.y;
    const int i = blockIdx.x * BLOCK_X + x;
    const int j = blockIdx.y * BLOCK_Y + y;
    const int plane = nx * ny;
    const int here = i + nx * j;
    const bool loads = i < nx && j < ny;
    const bool computes = i > 0 && i < nx - 1 && j > 0 && j < ny - 1;

    float bottom = 0.0f, top = 0.0f;
    if (loads) {
        bottom = A0[here];
        current[y][x] = A0[here + plane];
    }
    for (int k = 1; k < nz - 1; k++) {
        const int at = here + k * plane;
        if (loads) top = A0[at + plane];
        __syncthreads();
        if (computes) {
            const float west = x > 0 ? current[y][x - 1] : A0[at - 1];
            const float east = x < BLOCK_X - 1 ? current[y][x + 1] : A0[at + 1];
            const float south = y > 0 ? current[y - 1][x] : A0[at - nx];
            const float north = y < BLOCK_Y - 1 ? current[y + 1][x] : A0[at + nx];
            Anext[at] = west + east + south + north + bottom + top - 6.0f * current[y][x] / (fac * fac);
        }
        __syncthreads();
        bottom = current[y][x];
        current[y][x] = top;
    }
}
