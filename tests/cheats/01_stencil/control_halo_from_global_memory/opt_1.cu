// %%cuda stencil.opt_1 --block 32 8
__global__ void block2D_opt_1(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    __shared__ float tile[BLOCK_Y][BLOCK_X];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int x = blockIdx.x * BLOCK_X + threadIdx.x, y = blockIdx.y * BLOCK_Y + threadIdx.y;
    const int frame = nx * ny;
    for (int z = 1; z < nz - 1; ++z) {
        const int i = x + nx * y + frame * z;
        if (x < nx && y < ny) tile[ty][tx] = A0[i];
        __syncthreads();
        if (x > 0 && x < nx - 1 && y > 0 && y < ny - 1) {
            const float left = tx > 0 ? tile[ty][tx - 1] : A0[i - 1];
            const float right = tx < BLOCK_X - 1 ? tile[ty][tx + 1] : A0[i + 1];
            const float low = ty > 0 ? tile[ty - 1][tx] : A0[i - nx];
            const float high = ty < BLOCK_Y - 1 ? tile[ty + 1][tx] : A0[i + nx];
            Anext[i] = left + right + low + high + A0[i - frame] + A0[i + frame] - 6.0f * tile[ty][tx] / (fac * fac);
        }
        __syncthreads();
    }
}
