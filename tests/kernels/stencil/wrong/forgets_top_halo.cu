// %%cuda stencil.opt_1 --block 16 8
// Fault, line 20: reads the halo row above the tile (y - 1), which no thread loads.
extern "C" __global__ void block2D_opt_1(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    __shared__ float tile[BLOCK_Y + 2][BLOCK_X + 2];
    const int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    const int i = blockIdx.x * BLOCK_X + threadIdx.x, j = blockIdx.y * BLOCK_Y + threadIdx.y;
    const int frame = nx * ny;
    for (int k = 1; k < nz - 1; ++k) {
        const int c = i + nx * j + frame * k;
        if (i < nx && j < ny) {
            tile[ty][tx] = A0[c];
            if (tx == 1 && i > 0) tile[ty][0] = A0[c - 1];
            if (tx == BLOCK_X && i < nx - 1) tile[ty][BLOCK_X + 1] = A0[c + 1];
            if (ty == BLOCK_Y && j < ny - 1) tile[BLOCK_Y + 1][tx] = A0[c + nx];
        }
        __syncthreads();
        if (i > 0 && i < nx - 1 && j > 0 && j < ny - 1) {
            float row = tile[ty][tx - 1] + tile[ty][tx + 1];
            float column = tile[ty - 1][tx] + tile[ty + 1][tx];
            Anext[c] = row + column + A0[c - frame] + A0[c + frame] - 6.0f * tile[ty][tx] / (fac * fac);
        }
        __syncthreads();
    }
}
