// %%cuda stencil.opt_3 --block 32 8 --tile 2 1 0
// Fault, line 26: the second point of the pair is stored without its own guard in x.
extern "C" __global__ void block2D_opt_3(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    __shared__ float s[BLOCK_Y][2 * BLOCK_X];
    const int t = 2 * threadIdx.x, y = threadIdx.y;
    const int i = blockIdx.x * (2 * BLOCK_X) + t, j = blockIdx.y * BLOCK_Y + y;
    const int frame = nx * ny;
    const bool one = i < nx && j < ny, two = i + 1 < nx && j < ny;
    int c = i + nx * j;
    float bottom1 = one ? A0[c] : 0.0f, centre1 = one ? A0[c + frame] : 0.0f, top1 = 0.0f;
    float bottom2 = two ? A0[c + 1] : 0.0f, centre2 = two ? A0[c + 1 + frame] : 0.0f, top2 = 0.0f;
    for (int k = 1; k < nz - 1; ++k) {
        c += frame;
        s[y][t] = centre1;
        s[y][t + 1] = centre2;
        if (one) top1 = A0[c + frame];
        if (two) top2 = A0[c + 1 + frame];
        __syncthreads();
        if (one && j > 0 && j < ny - 1) {
            float sum1 = (t > 0 ? s[y][t - 1] : A0[c - 1]) + centre2 + bottom1 + top1;
            float sum2 = centre1 + (t + 2 < 2 * BLOCK_X ? s[y][t + 2] : A0[c + 2]) + bottom2 + top2;
            sum1 += (y > 0 ? s[y - 1][t] : A0[c - nx]) + (y < BLOCK_Y - 1 ? s[y + 1][t] : A0[c + nx]);
            sum2 += (y > 0 ? s[y - 1][t + 1] : A0[c + 1 - nx]) + (y < BLOCK_Y - 1 ? s[y + 1][t + 1] : A0[c + 1 + nx]);
            if (i > 0 && i < nx - 1) Anext[c] = sum1 - 6.0f * centre1 / (fac * fac);
            Anext[c + 1] = sum2 - 6.0f * centre2 / (fac * fac);
        }
        __syncthreads();
        bottom1 = centre1; centre1 = top1;
        bottom2 = centre2; centre2 = top2;
    }
}
