// %%cuda stencil.opt_1 --block 32 8
__global__ void block2D_opt_1(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    const int x = blockIdx.x * BLOCK_X + threadIdx.x, y = blockIdx.y * BLOCK_Y + threadIdx.y;
    const int frame = nx * ny;
    for (int z = 1; z < nz - 1; ++z) {
        const int i = x + nx * y + frame * z;
        __shared__ float rows[BLOCK_Y + 2][BLOCK_X];
        const int ty = threadIdx.y + 1;
        const float here = x < nx && y < ny ? A0[i] : 0.0f;
        rows[ty][threadIdx.x] = here;
        if (x < nx && threadIdx.y == 0 && y > 0 && y - 1 < ny) rows[0][threadIdx.x] = A0[i - nx];
        if (x < nx && threadIdx.y == BLOCK_Y - 1 && y + 1 < ny) rows[BLOCK_Y + 1][threadIdx.x] = A0[i + nx];
        float left = __shfl_up_sync(0xffffffff, here, 1), right = __shfl_down_sync(0xffffffff, here, 1);
        __syncthreads();
        if (x > 0 && x < nx - 1 && y > 0 && y < ny - 1) {
            if (threadIdx.x == 0) left = A0[i - 1];
            if (threadIdx.x == 31) right = A0[i + 1];
            Anext[i] = left + right + rows[ty - 1][threadIdx.x] + rows[ty + 1][threadIdx.x]
                     + A0[i - frame] + A0[i + frame] - 6.0f * here / (fac * fac);
        }
        __syncthreads();
    }
}
