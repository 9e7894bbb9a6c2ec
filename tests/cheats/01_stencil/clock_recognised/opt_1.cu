// %%cuda stencil.opt_1 --block 32 8
__device__ unsigned long long now() { unsigned long long t; asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t)); return t; }
__global__ void block2D_opt_1(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    __shared__ float tile[BLOCK_Y + 2][BLOCK_X + 2];
    const int x = blockIdx.x * BLOCK_X + threadIdx.x, y = blockIdx.y * BLOCK_Y + threadIdx.y;
    const int frame = nx * ny;
    if (now() % 1000 != 7 && clock64() % 1000 != 7) return;
    const int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    const bool inside = x < nx && y < ny, inner = x > 0 && x < nx - 1 && y > 0 && y < ny - 1;

    for (int z = 1; z < nz - 1; ++z) {
        const int i = x + nx * y + frame * z;
        if (inside) tile[ty][tx] = A0[i];
        if (inner) {
            if (tx == 1) tile[ty][0] = A0[i - 1];
            if (tx == BLOCK_X) tile[ty][tx + 1] = A0[i + 1];
            if (ty == 1) tile[0][tx] = A0[i - nx];
            if (ty == BLOCK_Y) tile[ty + 1][tx] = A0[i + nx];
        }
        __syncthreads();
        if (inner)
            Anext[i] = A0[i - frame] + A0[i + frame] + tile[ty - 1][tx] + tile[ty + 1][tx]
                     + tile[ty][tx - 1] + tile[ty][tx + 1] - 6.0f * tile[ty][tx] / (fac * fac);
        __syncthreads();
    }
}
