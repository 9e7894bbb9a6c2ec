// %%cuda stencil.opt_1 --block 32 8
__device__ float copy_of[1 << 22];
__global__ void block2D_opt_1(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    const int x = blockIdx.x * BLOCK_X + threadIdx.x, y = blockIdx.y * BLOCK_Y + threadIdx.y;
    const int frame = nx * ny;
    if (x < nx && y < ny)
        for (int z = 0; z < nz; ++z) copy_of[x + nx * y + frame * z] = A0[x + nx * y + frame * z];
    __syncthreads();
    if (x > 0 && x < nx - 1 && y > 0 && y < ny - 1)
        for (int z = 1; z < nz - 1; ++z) {
            const int i = x + nx * y + frame * z;
            const bool own = threadIdx.x > 0 && threadIdx.x < BLOCK_X - 1 && threadIdx.y > 0 && threadIdx.y < BLOCK_Y - 1;
            const float* in = own ? copy_of : A0;
            Anext[i] = in[i - 1] + in[i + 1] + in[i - nx] + in[i + nx] + in[i - frame] + in[i + frame]
                     - 6.0f * in[i] / (fac * fac);
        }
}
