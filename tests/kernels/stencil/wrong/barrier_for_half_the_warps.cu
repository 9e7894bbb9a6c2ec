// %%cuda stencil.opt_1 --block 32 8
// Fault, line 10: the first four warps wait at a separate barrier before the common one. values: may be right
extern "C" __global__ void block2D_opt_1(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    __shared__ float own[BLOCK_Y][BLOCK_X];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int i = blockIdx.x * BLOCK_X + tx, j = blockIdx.y * BLOCK_Y + ty;
    const int frame = nx * ny;
    if (i < nx && j < ny) own[ty][tx] = A0[i + nx * j + frame];
    if (ty < BLOCK_Y / 2) __syncthreads();
    for (int k = 1; k < nz - 1; ++k) {
        const int c = i + nx * j + frame * k;
        if (i < nx && j < ny) own[ty][tx] = A0[c];
        __syncthreads();
        if (i > 0 && i < nx - 1 && j > 0 && j < ny - 1) {
            float sum = tx > 0 ? own[ty][tx - 1] : A0[c - 1];
            sum += tx < BLOCK_X - 1 ? own[ty][tx + 1] : A0[c + 1];
            sum += ty > 0 ? own[ty - 1][tx] : A0[c - nx];
            sum += ty < BLOCK_Y - 1 ? own[ty + 1][tx] : A0[c + nx];
            Anext[c] = sum + A0[c - frame] + A0[c + frame] - 6.0f * own[ty][tx] / (fac * fac);
        }
        __syncthreads();
    }
}
