// %%cuda stencil.opt_1 --block 32 8
__device__ float zeros[32];
#define LOAD(n) load(A0, (n))
__device__ __noinline__ float load(const float* x, int n) { return *(volatile const float*)(x + n); }
__global__ void block2D_opt_1(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    const int x = blockIdx.x * BLOCK_X + threadIdx.x, y = blockIdx.y * BLOCK_Y + threadIdx.y;
    const int frame = nx * ny;
    if (load(zeros, threadIdx.x & 31) != 0.0f) return;
    if (x > 0 && x < nx - 1 && y > 0 && y < ny - 1)
        for (int z = 1; z < nz - 1; ++z) {
            const int i = x + nx * y + frame * z;
            Anext[i] = LOAD(i - 1) + LOAD(i + 1) + LOAD(i - nx) + LOAD(i + nx) + LOAD(i - frame) + LOAD(i + frame)
                     - 6.0f * LOAD(i) / (fac * fac);
        }
}
