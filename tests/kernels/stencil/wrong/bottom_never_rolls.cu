// %%cuda stencil.opt_2 --block 32 8
// Fault, line 26: centre becomes top, and bottom stays frame 0 forever.
extern "C" __global__ void block2D_opt_2(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    __shared__ float own[BLOCK_Y][BLOCK_X];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int i = blockIdx.x * BLOCK_X + tx, j = blockIdx.y * BLOCK_Y + ty;
    const int frame = nx * ny;
    const bool exists = i < nx && j < ny, inner = i > 0 && i < nx - 1 && j > 0 && j < ny - 1;
    int c = i + nx * j;
    float bottom = exists ? A0[c] : 0.0f, centre = exists ? A0[c + frame] : 0.0f;
    for (int k = 1; k < nz - 1; ++k) {
        c += frame;
        own[ty][tx] = centre;
        const float top = exists ? A0[c + frame] : 0.0f;
        __syncthreads();
        if (inner) {
            float sum = bottom + top;
            sum += tx > 0 ? own[ty][tx - 1] : A0[c - 1];
            sum += tx < BLOCK_X - 1 ? own[ty][tx + 1] : A0[c + 1];
            sum += ty > 0 ? own[ty - 1][tx] : A0[c - nx];
            sum += ty < BLOCK_Y - 1 ? own[ty + 1][tx] : A0[c + nx];
            Anext[c] = sum - 6.0f * centre / (fac * fac);
        }
        __syncthreads();
        centre = top;
    }
}
