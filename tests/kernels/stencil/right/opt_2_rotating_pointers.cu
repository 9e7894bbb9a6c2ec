// %%cuda stencil.opt_2 --block 128 1
// opt_2: three shared rows and three pointers to them, rotated once a frame; y neighbours come from global memory.
extern "C" __global__ void block2D_opt_2(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    __shared__ float row[3][BLOCK_X + 2];
    float *bottom = row[0], *current = row[1], *top = row[2];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK_X + t, j = blockIdx.y;
    const int x0 = blockIdx.x * BLOCK_X - 1;
    const size_t frame = (size_t)nx * ny;
    const float* line = A0 + (size_t)j * nx;

    for (int n = t; n < BLOCK_X + 2; n += BLOCK_X)
        if (x0 + n >= 0 && x0 + n < nx) {
            bottom[n] = line[x0 + n];
            current[n] = line[x0 + n + frame];
        }
    for (int k = 1; k < nz - 1; ++k) {
        for (int n = t; n < BLOCK_X + 2; n += BLOCK_X)
            if (x0 + n >= 0 && x0 + n < nx) top[n] = line[x0 + n + (k + 1) * frame];
        __syncthreads();
        if (i > 0 && i < nx - 1 && j > 0 && j < ny - 1) {
            const size_t c = i + k * frame;
            Anext[c + (size_t)j * nx] = current[t] + current[t + 2] + line[c - nx] + line[c + nx]
                                      + bottom[t + 1] + top[t + 1] - 6.0f * current[t + 1] / (fac * fac);
        }
        __syncthreads();
        float* oldest = bottom;
        bottom = current;
        current = top;
        top = oldest;
    }
}
