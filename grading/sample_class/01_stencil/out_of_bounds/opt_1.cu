// %%cuda stencil.opt_1 --block 16 16
// All threads load the halo with a stride, including its corners.
__global__ void block2D_opt_1(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    const int W = BLOCK_X + 2, H = BLOCK_Y + 2;
    __shared__ float tile[W * H];
    int i0 = blockIdx.x * BLOCK_X - 1;
    int j0 = blockIdx.y * BLOCK_Y - 1;
    int i = i0 + 1 + threadIdx.x;
    int j = j0 + 1 + threadIdx.y;
    int m = (threadIdx.y + 1) * W + threadIdx.x + 1;

    for (int k = 1; k < nz - 1; k++) {
        for (int n = threadIdx.y * BLOCK_X + threadIdx.x; n < W * H; n += BLOCK_X * BLOCK_Y) {
            int p = i0 + n % W, q = j0 + n / W;
            if (p >= 0 && p < nx && q >= 0 && q < ny) tile[n] = A0[(k * ny + q) * nx + p];
        }
        __syncthreads();
        if (i > 0 && i < nx - 1 && j > 0 && j < ny - 1) {
            int c = (k * ny + j) * nx + i;
            Anext[c] = tile[m - 1] + tile[m + 1] + tile[m - W] + tile[m + W]
                     + A0[c - nx * ny] + A0[c + nx * ny] - 6.0f * tile[m] / (fac * fac);
        }
        __syncthreads();
    }
}
