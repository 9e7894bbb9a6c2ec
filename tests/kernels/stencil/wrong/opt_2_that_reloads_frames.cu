// %%cuda stencil.opt_2 --block 32 8
// Fault, line 13: loads the frame below again in every step instead of keeping it. values: right, technique: wrong
extern "C" __global__ void block2D_opt_2(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    __shared__ float own[BLOCK_Y][BLOCK_X];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int i = blockIdx.x * BLOCK_X + tx, j = blockIdx.y * BLOCK_Y + ty;
    const int frame = nx * ny;
    float bottom = 0.0f, centre = 0.0f, top = 0.0f;
    for (int k = 1; k < nz - 1; ++k) {
        const int c = i + nx * j + frame * k;
        if (i < nx && j < ny) {
            bottom = A0[c - frame];
            centre = A0[c];
            top = A0[c + frame];
        }
        own[ty][tx] = centre;
        __syncthreads();
        if (i > 0 && i < nx - 1 && j > 0 && j < ny - 1) {
            float sum = bottom + top;
            sum += tx > 0 ? own[ty][tx - 1] : A0[c - 1];
            sum += tx < BLOCK_X - 1 ? own[ty][tx + 1] : A0[c + 1];
            sum += ty > 0 ? own[ty - 1][tx] : A0[c - nx];
            sum += ty < BLOCK_Y - 1 ? own[ty + 1][tx] : A0[c + nx];
            Anext[c] = sum - 6.0f * centre / (fac * fac);
        }
        __syncthreads();
    }
}
