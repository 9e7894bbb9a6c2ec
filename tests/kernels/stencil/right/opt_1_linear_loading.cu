// %%cuda stencil.opt_1 --block 24 5
// opt_1: all threads, numbered in a line, fill the tile and its halo in strides of the block's size.
#define WIDTH (BLOCK_X + 2)
#define HEIGHT (BLOCK_Y + 2)

extern "C" __global__ void block2D_opt_1(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    __shared__ float tile[HEIGHT * WIDTH];
    const int rank = threadIdx.x + BLOCK_X * threadIdx.y;
    const int x0 = blockIdx.x * BLOCK_X - 1, y0 = blockIdx.y * BLOCK_Y - 1;
    const int i = x0 + 1 + threadIdx.x, j = y0 + 1 + threadIdx.y;
    const int here = (threadIdx.y + 1) * WIDTH + threadIdx.x + 1;

    for (int k = 1; k < nz - 1; ++k) {
        for (int n = rank; n < WIDTH * HEIGHT; n += BLOCK_X * BLOCK_Y) {
            const int x = x0 + n % WIDTH, y = y0 + n / WIDTH;
            tile[n] = x >= 0 && x < nx && y >= 0 && y < ny ? A0[x + nx * (y + ny * k)] : 0.0f;
        }
        __syncthreads();
        if (i >= 1 && i <= nx - 2 && j >= 1 && j <= ny - 2) {
            const int c = i + nx * (j + ny * k);
            const float flat = tile[here - 1] + tile[here + 1] + tile[here - WIDTH] + tile[here + WIDTH];
            Anext[c] = flat + A0[c - nx * ny] + A0[c + nx * ny] - 6.0f * tile[here] / (fac * fac);
        }
        __syncthreads();
    }
}
