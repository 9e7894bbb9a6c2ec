// %%cuda stencil.opt_2 --block 24 5
// opt_2: as in the pseudo-code, with the tile rewritten from `top` and the halo taken from global memory.
extern "C" __global__ void block2D_opt_2(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    __shared__ float current[BLOCK_Y][BLOCK_X];
    int tx = threadIdx.x, ty = threadIdx.y;
    int i = blockIdx.x * BLOCK_X + tx, j = blockIdx.y * BLOCK_Y + ty;
    bool in_range = i < nx && j < ny;
    bool inner = i >= 1 && j >= 1 && i < nx - 1 && j < ny - 1;
    int frame = nx * ny, at = j * nx + i;
    float bottom = 0.0f, top = 0.0f;

    if (in_range) {
        bottom = A0[at];
        current[ty][tx] = A0[at + frame];
    }
    __syncthreads();
    for (int k = 1; k < nz - 1; k++) {
        at += frame;
        if (in_range) top = A0[at + frame];
        if (inner) {
            float sum = bottom + top;
            sum += tx == 0 ? A0[at - 1] : current[ty][tx - 1];
            sum += tx == BLOCK_X - 1 ? A0[at + 1] : current[ty][tx + 1];
            sum += ty == 0 ? A0[at - nx] : current[ty - 1][tx];
            sum += ty == BLOCK_Y - 1 ? A0[at + nx] : current[ty + 1][tx];
            Anext[at] = sum - 6.0f * current[ty][tx] / (fac * fac);
        }
        bottom = current[ty][tx];
        __syncthreads();
        current[ty][tx] = top;
        __syncthreads();
    }
}
