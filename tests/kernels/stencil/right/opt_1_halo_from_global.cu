// %%cuda stencil.opt_1 --block 32 8
// opt_1: the tile holds the block's own points; a neighbour in another block's tile comes from global memory.
extern "C" __global__ void block2D_opt_1(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    __shared__ float own[BLOCK_Y][BLOCK_X];
    int tx = threadIdx.x, ty = threadIdx.y;
    int i = blockIdx.x * BLOCK_X + tx, j = blockIdx.y * BLOCK_Y + ty;
    bool inner = i > 0 && i < nx - 1 && j > 0 && j < ny - 1;

    for (int k = 1; k < nz - 1; k++) {
        int c = i + nx * (j + ny * k);
        if (i < nx && j < ny) own[ty][tx] = A0[c];
        __syncthreads();
        if (inner) {
            float left  = tx > 0           ? own[ty][tx - 1] : A0[c - 1];
            float right = tx < BLOCK_X - 1 ? own[ty][tx + 1] : A0[c + 1];
            float up    = ty > 0           ? own[ty - 1][tx] : A0[c - nx];
            float down  = ty < BLOCK_Y - 1 ? own[ty + 1][tx] : A0[c + nx];
            Anext[c] = left + right + up + down + A0[c - nx * ny] + A0[c + nx * ny]
                     - 6.0f * own[ty][tx] / (fac * fac);
        }
        __syncthreads();
    }
}
