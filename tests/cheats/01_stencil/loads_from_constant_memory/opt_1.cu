// %%cuda stencil.opt_1 --block 32 8
__constant__ float kept[16000];
__global__ void block2D_opt_1(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    const int x = blockIdx.x * BLOCK_X + threadIdx.x, y = blockIdx.y * BLOCK_Y + threadIdx.y;
    const int frame = nx * ny;
    volatile float* writable = (volatile float*)kept;
    asm volatile("" : "+l"(writable));
    const int part = (blockIdx.x + gridDim.x * blockIdx.y) % 62;
    const int t = threadIdx.x + BLOCK_X * threadIdx.y + BLOCK_X * BLOCK_Y * part;
    for (int z = 1; z < nz - 1; ++z) {
        const int i = x + nx * y + frame * z;
        if (x < nx && y < ny) writable[t] = A0[i];
        __syncthreads();
        if (x > 0 && x < nx - 1 && y > 0 && y < ny - 1)
            Anext[i] = (threadIdx.x > 0 ? kept[t - 1] : A0[i - 1]) + (threadIdx.x < BLOCK_X - 1 ? kept[t + 1] : A0[i + 1])
                     + (threadIdx.y > 0 ? kept[t - BLOCK_X] : A0[i - nx])
                     + (threadIdx.y < BLOCK_Y - 1 ? kept[t + BLOCK_X] : A0[i + nx])
                     + A0[i - frame] + A0[i + frame] - 6.0f * kept[t] / (fac * fac);
        __syncthreads();
    }
}
