// %%cuda stencil.opt_3 --block 32 4 --tile 1 2 0
// Two points per thread, one block height apart in y.
__global__ void block2D_opt_3(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    __shared__ float current[2 * BLOCK_Y][BLOCK_X];
    const int x = threadIdx.x;
    const int i = blockIdx.x * BLOCK_X + x;
    const int plane = nx * ny;
    const float scale = 6.0f / (fac * fac);

    int here[2], row[2];
    bool loads[2], computes[2];
    float bottom[2], top[2];
    for (int p = 0; p < 2; p++) {
        row[p] = threadIdx.y + p * BLOCK_Y;
        const int j = blockIdx.y * 2 * BLOCK_Y + row[p];
        here[p] = i + nx * j;
        loads[p] = i < nx && j < ny;
        computes[p] = i > 0 && i < nx - 1 && j > 0 && j < ny - 1;
        bottom[p] = top[p] = 0.0f;
        if (loads[p]) {
            bottom[p] = A0[here[p]];
            current[row[p]][x] = A0[here[p] + plane];
        }
    }
    for (int k = 1; k < nz - 1; k++) {
        for (int p = 0; p < 2; p++)
            if (loads[p]) top[p] = A0[here[p] + (k + 1) * plane];
        __syncthreads();
        for (int p = 0; p < 2; p++)
            if (computes[p]) {
                const int y = row[p], at = here[p] + k * plane;
                const float west = x > 0 ? current[y][x - 1] : A0[at - 1];
                const float east = x < BLOCK_X - 1 ? current[y][x + 1] : A0[at + 1];
                const float south = y > 0 ? current[y - 1][x] : A0[at - nx];
                const float north = y < 2 * BLOCK_Y - 1 ? current[y + 1][x] : A0[at + nx];
                Anext[at] = west + east + south + north + bottom[p] + top[p] - scale * current[y][x];
            }
        __syncthreads();
        for (int p = 0; p < 2; p++) {
            bottom[p] = current[row[p]][x];
            current[row[p]][x] = top[p];
        }
    }
}
