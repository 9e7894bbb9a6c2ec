// %%cuda stencil.opt_1 --block 32 8
// Fault, line 21: reads the shared weight, which was never written.
extern "C" __global__ void block2D_opt_1(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    __shared__ float own[BLOCK_Y][BLOCK_X];
    __shared__ float weight[2];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int i = blockIdx.x * BLOCK_X + tx, j = blockIdx.y * BLOCK_Y + ty;
    const int frame = nx * ny;
    if (tx == 0 && ty == 0) weight[0] = 6.0f / (fac * fac);
    for (int k = 1; k < nz - 1; ++k) {
        const int c = i + nx * j + frame * k;
        own[ty][tx] = i < nx && j < ny ? A0[c] : 0.0f;
        __syncthreads();
        if (i > 0 && i < nx - 1 && j > 0 && j < ny - 1) {
            float sum = A0[c - frame] + A0[c + frame];
            sum += tx > 0 ? own[ty][tx - 1] : A0[c - 1];
            sum += tx < BLOCK_X - 1 ? own[ty][tx + 1] : A0[c + 1];
            sum += ty > 0 ? own[ty - 1][tx] : A0[c - nx];
            sum += ty < BLOCK_Y - 1 ? own[ty + 1][tx] : A0[c + nx];
            Anext[c] = sum - weight[nz > 0] * own[ty][tx];
        }
        __syncthreads();
    }
}
