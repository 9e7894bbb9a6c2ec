// %%cuda stencil.opt_2 --block 16 16
// opt_2: bottom, current and top frames all in shared memory; a frame is loaded once, its slot is k modulo 3.
#define W (BLOCK_X + 2)
#define H (BLOCK_Y + 2)

extern "C" __global__ void block2D_opt_2(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    __shared__ float frames[3][H][W];
    const int i = blockIdx.x * BLOCK_X + threadIdx.x, j = blockIdx.y * BLOCK_Y + threadIdx.y;
    const int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    const int rank = threadIdx.y * BLOCK_X + threadIdx.x;

    for (int k = 0; k < nz; ++k) {
        for (int n = rank; n < W * H; n += BLOCK_X * BLOCK_Y) {
            int x = (int)(blockIdx.x * BLOCK_X) - 1 + n % W;
            int y = (int)(blockIdx.y * BLOCK_Y) - 1 + n / W;
            if (x >= 0 && y >= 0 && x < nx && y < ny)
                frames[k % 3][n / W][n % W] = A0[x + nx * (y + ny * k)];
        }
        __syncthreads();
        if (k >= 2) {
            const int bottom = (k - 2) % 3, current = (k - 1) % 3, top = k % 3;
            if (i > 0 && i < nx - 1 && j > 0 && j < ny - 1)
                Anext[i + nx * (j + ny * (k - 1))] =
                    frames[current][ty][tx - 1] + frames[current][ty][tx + 1] + frames[current][ty - 1][tx]
                    + frames[current][ty + 1][tx] + frames[bottom][ty][tx] + frames[top][ty][tx]
                    - 6.0f * frames[current][ty][tx] / (fac * fac);
        }
        __syncthreads();
    }
}
