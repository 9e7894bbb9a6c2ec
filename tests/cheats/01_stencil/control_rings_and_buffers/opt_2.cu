// %%cuda stencil.opt_2 --block 32 8
// Three frames in a ring in shared memory, walked from the last frame to the first.
__global__ void block2D_opt_2(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    __shared__ float ring[3][BLOCK_Y + 2][BLOCK_X + 2];
    const int x0 = blockIdx.x * BLOCK_X - 1, y0 = blockIdx.y * BLOCK_Y - 1;
    const int t = threadIdx.x + BLOCK_X * threadIdx.y, W = BLOCK_X + 2, H = BLOCK_Y + 2;
    auto fetch = [&](int z) {
        for (int q = t; q < W * H; q += BLOCK_X * BLOCK_Y) {
            int x = x0 + q % W, y = y0 + q / W;
            if (x >= 0 && y >= 0 && x < nx && y < ny) ring[z % 3][q / W][q % W] = A0[x + nx * (y + ny * z)];
        }
    };
    int x = x0 + 1 + threadIdx.x, y = y0 + 1 + threadIdx.y, tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    fetch(nz - 1); fetch(nz - 2);
    for (int z = nz - 2; z >= 1; --z) {
        fetch(z - 1);
        __syncthreads();
        if (x > 0 && y > 0 && x < nx - 1 && y < ny - 1) {
            float c = ring[z % 3][ty][tx];
            Anext[x + nx * (y + ny * z)] = ring[(z - 1) % 3][ty][tx] + ring[(z + 1) % 3][ty][tx] + ring[z % 3][ty - 1][tx]
                + ring[z % 3][ty + 1][tx] + ring[z % 3][ty][tx - 1] + ring[z % 3][ty][tx + 1] - 6.0f * c / (fac * fac);
        }
        __syncthreads();
    }
}
