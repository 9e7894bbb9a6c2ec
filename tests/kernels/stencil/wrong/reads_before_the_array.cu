// %%cuda stencil.opt_2 --block 32 8
// Fault, line 14: the halo left of frame 0 is loaded without i > 0, so A0[-1] is read. values: may be right
#define W (BLOCK_X + 2)
extern "C" __global__ void block2D_opt_2(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    __shared__ float frames[3][BLOCK_Y][W];
    const int t = threadIdx.x, y = threadIdx.y;
    const int i = blockIdx.x * BLOCK_X + t, j = blockIdx.y * BLOCK_Y + y;
    const int frame = nx * ny;
    for (int k = 0; k < nz; ++k) {
        const int c = i + nx * j + frame * k;
        if (i < nx && j < ny) {
            frames[k % 3][y][t + 1] = A0[c];
            if (t == 0) frames[k % 3][y][0] = A0[c - 1];
            if (t == BLOCK_X - 1 && i < nx - 1) frames[k % 3][y][W - 1] = A0[c + 1];
        }
        __syncthreads();
        if (k > 1 && i > 0 && i < nx - 1 && j > 0 && j < ny - 1) {
            const float (*f)[W] = frames[(k - 1) % 3];
            float sum = f[y][t] + f[y][t + 2] + frames[k % 3][y][t + 1] + frames[(k - 2) % 3][y][t + 1];
            sum += y > 0 ? f[y - 1][t + 1] : A0[c - frame - nx];
            sum += y < BLOCK_Y - 1 ? f[y + 1][t + 1] : A0[c - frame + nx];
            Anext[c - frame] = sum - 6.0f * f[y][t + 1] / (fac * fac);
        }
        __syncthreads();
    }
}
