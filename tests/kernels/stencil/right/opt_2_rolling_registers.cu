// %%cuda stencil.opt_2 --block 32 8
// opt_2: the frame below and above in registers, the current one as a tile with halo in shared memory.
extern "C" __global__ void block2D_opt_2(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    __shared__ float current[BLOCK_Y + 2][BLOCK_X + 2];
    const int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    const int i = blockIdx.x * BLOCK_X + threadIdx.x, j = blockIdx.y * BLOCK_Y + threadIdx.y;
    const int frame = nx * ny;
    const bool exists = i < nx && j < ny;
    const bool inner = i > 0 && i < nx - 1 && j > 0 && j < ny - 1;
    int c = i + nx * j;
    float bottom = 0.0f, centre = 0.0f, top = 0.0f;

    if (exists) {
        bottom = A0[c];
        centre = A0[c + frame];
    }
    for (int k = 1; k < nz - 1; ++k) {
        c += frame;
        current[ty][tx] = centre;
        if (exists) {
            top = A0[c + frame];
            if (tx == 1 && i > 0) current[ty][0] = A0[c - 1];
            if (tx == BLOCK_X && i < nx - 1) current[ty][BLOCK_X + 1] = A0[c + 1];
            if (ty == 1 && j > 0) current[0][tx] = A0[c - nx];
            if (ty == BLOCK_Y && j < ny - 1) current[BLOCK_Y + 1][tx] = A0[c + nx];
        }
        __syncthreads();
        if (inner)
            Anext[c] = current[ty][tx - 1] + current[ty][tx + 1] + current[ty - 1][tx] + current[ty + 1][tx]
                     + bottom + top - 6.0f * centre / (fac * fac);
        __syncthreads();
        bottom = centre;
        centre = top;
    }
}
