// %%cuda stencil.opt_3 --block 16 8 --tile 2 1 0
// Two points in x, BLOCK_X apart, and three frames in registers.
__global__ void block2D_opt_3(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    constexpr int W = 2 * BLOCK_X;
    __shared__ float tile[BLOCK_Y + 2][W + 2];
    const int x0 = blockIdx.x * W, y0 = blockIdx.y * BLOCK_Y, y = y0 + threadIdx.y, ty = threadIdx.y + 1;
    const int t = threadIdx.y * BLOCK_X + threadIdx.x;
    auto at = [&](int i, int j, int k) {
        return i >= 0 && i < nx && j >= 0 && j < ny ? A0[i + nx * (j + ny * k)] : 0.0f;
    };

    float below[2], here[2], above[2];
    for (int u = 0; u < 2; u++) {
        const int x = x0 + threadIdx.x + u * BLOCK_X;
        below[u] = at(x, y, 0);
        here[u] = at(x, y, 1);
    }
    for (int z = 1; z < nz - 1; z++) {
        for (int u = 0; u < 2; u++) {
            above[u] = at(x0 + threadIdx.x + u * BLOCK_X, y, z + 1);
            tile[ty][threadIdx.x + u * BLOCK_X + 1] = here[u];
        }
        if (t < W) {
            tile[0][t + 1] = at(x0 + t, y0 - 1, z);
            tile[BLOCK_Y + 1][t + 1] = at(x0 + t, y0 + BLOCK_Y, z);
        }
        if (t < BLOCK_Y) {
            tile[t + 1][0] = at(x0 - 1, y0 + t, z);
            tile[t + 1][W + 1] = at(x0 + W, y0 + t, z);
        }
        __syncthreads();
        for (int u = 0; u < 2; u++) {
            const int tx = threadIdx.x + u * BLOCK_X + 1, x = x0 + tx - 1;
            if (x > 0 && x < nx - 1 && y > 0 && y < ny - 1)
                Anext[x + nx * (y + ny * z)] = tile[ty][tx - 1] + tile[ty][tx + 1] + tile[ty - 1][tx]
                                             + tile[ty + 1][tx] + below[u] + above[u] - 6 * here[u] / (fac * fac);
            below[u] = here[u];
            here[u] = above[u];
        }
        __syncthreads();
    }
}
