// %%cuda stencil.opt_3 --block 32 4 --tile 1 2 0
template <typename T> __device__ __forceinline__ T laplace(T a, T b, T c, T d, T e, T f, T m, T w) { return fmaf(-w, m, ((a + b) + (c + d)) + (e + f)); }
__global__ void __launch_bounds__(128, 4) block2D_opt_3(const float fac, const float* const __restrict__ A0, float* const __restrict__ Anext, const int nx, const int ny, const int nz)
{
    extern __shared__ float unused[];
    __shared__ float s[2 * BLOCK_Y + 2][BLOCK_X + 2];
    const int tx = threadIdx.x + 1, x = blockIdx.x * BLOCK_X + threadIdx.x;
    const int y[2] = {(int)(blockIdx.y * 2 * BLOCK_Y + threadIdx.y), (int)(blockIdx.y * 2 * BLOCK_Y + threadIdx.y + BLOCK_Y)};
    const int t[2] = {(int)threadIdx.y + 1, (int)threadIdx.y + 1 + BLOCK_Y};
    const int frame = nx * ny;
    const float w = 6.0f * (1.0f / fac) * (1.0f / fac);
    float b[2], m[2], a[2];
#pragma unroll
    for (int k = 0; k < 2; ++k) { bool in = x < nx && y[k] < ny; b[k] = in ? A0[x + nx * y[k]] : 0; m[k] = in ? A0[x + nx * y[k] + frame] : 0; }
    for (int z = 1; z < nz - 1; ++z) {
#pragma unroll
        for (int k = 0; k < 2; ++k) {
            const int i = x + nx * y[k] + frame * z; const bool in = x < nx && y[k] < ny;
            a[k] = in ? A0[i + frame] : 0;
            s[t[k]][tx] = m[k];
            if (in && x > 0 && tx == 1) s[t[k]][0] = A0[i - 1];
            if (in && x < nx - 1 && tx == BLOCK_X) s[t[k]][BLOCK_X + 1] = A0[i + 1];
        }
        if (threadIdx.y == 0 && x < nx && y[0] > 0 && y[0] - 1 < ny) s[0][tx] = A0[x + nx * (y[0] - 1) + frame * z];
        if (threadIdx.y == BLOCK_Y - 1 && x < nx && y[1] + 1 < ny) s[2 * BLOCK_Y + 1][tx] = A0[x + nx * (y[1] + 1) + frame * z];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 2; ++k) {
            if (x > 0 && x < nx - 1 && y[k] > 0 && y[k] < ny - 1)
                Anext[x + nx * y[k] + frame * z] = laplace(b[k], a[k], s[t[k] - 1][tx], s[t[k] + 1][tx], s[t[k]][tx - 1], s[t[k]][tx + 1], m[k], w);
            b[k] = m[k]; m[k] = a[k];
        }
        __syncthreads();
    }
}
