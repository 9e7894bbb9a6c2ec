// %%cuda stencil.opt_1 --block 64 2
// opt_1: a 1-D shared array with a padded pitch, pointers into it, and a do-while over the frames.
enum { PITCH = 72, ROWS = BLOCK_Y + 2 };

__global__ void
block2D_opt_1(float fac, const float* __restrict__ A0, float* __restrict__ Anext, int nx, int ny, int nz)
{
    __shared__ float s[PITCH * ROWS];
    unsigned tx = threadIdx.x, ty = threadIdx.y;
    int i = blockIdx.x * 64 + tx, j = blockIdx.y * BLOCK_Y + ty;
    float* mine = &s[(ty + 1) * PITCH + tx + 4];
    bool row = j < ny, inner = i >= 1 && i <= nx - 2 && j >= 1 && j <= ny - 2;
    size_t frame = (size_t)nx * ny, c = frame + (size_t)j * nx + i;
    int left = nz - 2;
    if (left <= 0) return;   // no thread of the grid meets a barrier then
    do {
        if (row && i < nx) mine[0] = A0[c];
        if (row && tx == 0 && i >= 1) mine[-1] = A0[c - 1];
        if (row && tx == 63 && i + 1 < nx) mine[+1] = A0[c + 1];
        if (ty == 0 && j >= 1 && i < nx && row) mine[-PITCH] = A0[c - nx];
        if (ty == BLOCK_Y - 1 && j + 1 < ny && i < nx) mine[+PITCH] = A0[c + nx];
        __syncthreads();
        if (inner) {
            float sum = mine[-1] + mine[1] + mine[-PITCH] + mine[PITCH] + A0[c - frame] + A0[c + frame];
            Anext[c] = sum - 6.0f * mine[0] / (fac * fac);
        }
        __syncthreads();
        c += frame;
    } while (--left);
}
