// %%cuda stencil.opt_1 --block 32 8
// Fault, line 14: the tile is filled, and only the thread's own point is read from it. values: right, technique: wrong
extern "C" __global__ void block2D_opt_1(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    __shared__ float decoy[BLOCK_Y][BLOCK_X];
    int i = blockIdx.x * BLOCK_X + threadIdx.x, j = blockIdx.y * BLOCK_Y + threadIdx.y;
    int frame = nx * ny;
    for (int k = 1; k < nz - 1; ++k) {
        int c = i + nx * j + frame * k;
        if (i < nx && j < ny) decoy[threadIdx.y][threadIdx.x] = A0[c];
        __syncthreads();
        if (i > 0 && i < nx - 1 && j > 0 && j < ny - 1) {
            float around = A0[c - 1] + A0[c + 1] + A0[c - nx] + A0[c + nx] + A0[c - frame] + A0[c + frame];
            Anext[c] = around - 6.0f * decoy[threadIdx.y][threadIdx.x] / (fac * fac);
        }
        __syncthreads();
    }
}
