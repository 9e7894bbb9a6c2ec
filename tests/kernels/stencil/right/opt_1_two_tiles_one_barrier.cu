// %%cuda stencil.opt_1 --block 16 16
// opt_1: two tiles used alternately, so that one barrier per frame is enough.
extern "C" __global__ void block2D_opt_1(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    __shared__ float tile[2][BLOCK_Y + 2][BLOCK_X + 2];
    int i = blockIdx.x * BLOCK_X + threadIdx.x, j = blockIdx.y * BLOCK_Y + threadIdx.y;
    int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    int plane = nx * ny;

    for (int k = 1; k < nz - 1; ++k) {
        float (*t)[BLOCK_X + 2] = tile[k & 1];
        int c = i + nx * j + plane * k;
        if (i < nx && j < ny) {
            t[ty][tx] = A0[c];
            if (tx == 1 && i > 0) t[ty][0] = A0[c - 1];
            if (tx == BLOCK_X && i + 1 < nx) t[ty][BLOCK_X + 1] = A0[c + 1];
            if (ty == 1 && j > 0) t[0][tx] = A0[c - nx];
            if (ty == BLOCK_Y && j + 1 < ny) t[BLOCK_Y + 1][tx] = A0[c + nx];
        }
        __syncthreads();
        if (i > 0 && j > 0 && i < nx - 1 && j < ny - 1)
            Anext[c] = t[ty][tx - 1] + t[ty][tx + 1] + t[ty - 1][tx] + t[ty + 1][tx]
                     + A0[c - plane] + A0[c + plane] - 6.0f * t[ty][tx] / (fac * fac);
    }
}
