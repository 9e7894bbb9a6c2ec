// %%cuda stencil.opt_2 --block 32 8
// Three frames in shared memory, whose roles rotate in each step.
__global__ void block2D_opt_2(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    __shared__ float frames[3][BLOCK_Y + 2][BLOCK_X + 2];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    int tx = threadIdx.x + 1;
    int ty = threadIdx.y + 1;
    bool mine = i > 0 && i < nx - 1 && j > 0 && j < ny - 1;

    for (int k = 0; k < nz; k++) {
        int c = i + nx * (j + ny * k);
        float (*top)[BLOCK_X + 2] = frames[k % 3];
        if (i < nx && j < ny) {
            top[ty][tx] = A0[c];
            if (threadIdx.x == 0 && i > 0) top[ty][0] = A0[c - 1];
            if (threadIdx.x == BLOCK_X - 1 && i < nx - 1) top[ty][BLOCK_X + 1] = A0[c + 1];
            if (threadIdx.y == 0 && j > 0) top[0][tx] = A0[c - nx];
            if (threadIdx.y == BLOCK_Y - 1 && j < ny - 1) top[BLOCK_Y + 1][tx] = A0[c + nx];
        }
        __syncthreads();

        if (k >= 2 && mine) {
            float (*now)[BLOCK_X + 2] = frames[(k - 1) % 3];
            Anext[c - nx * ny] = now[ty][tx - 1] + now[ty][tx + 1] + now[ty - 1][tx] + now[ty + 1][tx]
                               + frames[(k - 2) % 3][ty][tx] + top[ty][tx] - 6 * now[ty][tx] / (fac * fac);
        }
        __syncthreads();
    }
}
