// %%cuda stencil.opt_1 --block 32 8
// opt_1: the frame's tile with its halo in shared memory; the block's edge threads load the halo.
extern "C" __global__ void block2D_opt_1(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    __shared__ float tile[BLOCK_Y + 2][BLOCK_X + 2];
    const int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    const int i = blockIdx.x * BLOCK_X + threadIdx.x;
    const int j = blockIdx.y * BLOCK_Y + threadIdx.y;
    const int frame = nx * ny;
    const bool exists = i < nx && j < ny;
    const bool inner = i > 0 && i < nx - 1 && j > 0 && j < ny - 1;

    for (int k = 1; k < nz - 1; ++k) {
        const int c = i + nx * j + frame * k;
        if (exists) {
            tile[ty][tx] = A0[c];
            if (threadIdx.x == 0 && i > 0) tile[ty][0] = A0[c - 1];
            if (threadIdx.x == BLOCK_X - 1 && i < nx - 1) tile[ty][BLOCK_X + 1] = A0[c + 1];
            if (threadIdx.y == 0 && j > 0) tile[0][tx] = A0[c - nx];
            if (threadIdx.y == BLOCK_Y - 1 && j < ny - 1) tile[BLOCK_Y + 1][tx] = A0[c + nx];
        }
        __syncthreads();
        if (inner)
            Anext[c] = tile[ty][tx - 1] + tile[ty][tx + 1] + tile[ty - 1][tx] + tile[ty + 1][tx]
                     + A0[c - frame] + A0[c + frame] - 6.0f * tile[ty][tx] / (fac * fac);
        __syncthreads();
    }
}
