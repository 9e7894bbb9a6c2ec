// %%cuda stencil.opt_3 --block 32 4 --tile 1 4 0
__global__ void block2D_opt_3(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    constexpr int N = 4, ROWS = N * BLOCK_Y;
    __shared__ float tile[2][ROWS + 2][BLOCK_X + 2];
    int x = blockIdx.x * BLOCK_X + threadIdx.x, y0 = blockIdx.y * ROWS;
    long frame = (long)nx * ny;
    float below[N], above[N], here[N];
    auto at = [&](int y, long z) { return A0[x + nx * (long)y + frame * z]; };
    #pragma unroll
    for (int q = 0; q < N; ++q) {
        int y = y0 + threadIdx.y + q * BLOCK_Y;
        if (x < nx && y < ny) { below[q] = at(y, 0); here[q] = at(y, 1); }
    }
    for (int z = 1; z < nz - 1; ++z) {
        float (*now)[BLOCK_X + 2] = tile[z & 1];
        #pragma unroll
        for (int q = 0; q < N; ++q) {
            int r = threadIdx.y + q * BLOCK_Y, y = y0 + r;
            if (x >= nx || y >= ny) continue;
            above[q] = at(y, z + 1);
            now[r + 1][threadIdx.x + 1] = here[q];
            if (threadIdx.x == 0 && x > 0) now[r + 1][0] = A0[x - 1 + nx * (long)y + frame * z];
            if (threadIdx.x == BLOCK_X - 1 && x + 1 < nx) now[r + 1][BLOCK_X + 1] = A0[x + 1 + nx * (long)y + frame * z];
            if (r == 0 && y > 0) now[0][threadIdx.x + 1] = at(y - 1, z);
            if (r == ROWS - 1 && y + 1 < ny) now[ROWS + 1][threadIdx.x + 1] = at(y + 1, z);
        }
        __syncthreads();
        #pragma unroll
        for (int q = 0; q < N; ++q) {
            int r = threadIdx.y + q * BLOCK_Y, y = y0 + r, c = threadIdx.x + 1;
            if (x > 0 && y > 0 && x < nx - 1 && y < ny - 1)
                Anext[x + nx * (long)y + frame * z] = below[q] + above[q] + now[r][c] + now[r + 2][c] + now[r + 1][c - 1] + now[r + 1][c + 1] - 6.0f * here[q] / (fac * fac);
            below[q] = here[q]; here[q] = above[q];
        }
    }
}
