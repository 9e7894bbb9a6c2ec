// %%cuda stencil.opt_1 --block 32 8
template <int WIDTH>
struct Tile {
    float values[WIDTH];
    __device__ __forceinline__ float& operator[](int at) { return values[at]; }
};

__device__ __forceinline__ float weight_of(float fac) { return 6.0f / (fac * fac); }

template <typename Number>
__device__ Number sum_of(Number a, Number b, Number c) { return a + b + c; }

__device__ bool is_inner(int x, int y, int nx, int ny) { return 0 < x && x < nx - 1 && 0 < y && y < ny - 1; }

__global__ void block2D_opt_1(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    __shared__ float tile[BLOCK_Y + 2][BLOCK_X + 2];
    const int x = blockIdx.x * BLOCK_X + threadIdx.x, y = blockIdx.y * BLOCK_Y + threadIdx.y;
    const int frame = nx * ny;
    const int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    const bool inside = x < nx && y < ny, inner = is_inner(x, y, nx, ny);

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
            Anext[i] = A0[i - frame] + A0[i + frame] + sum_of(tile[ty - 1][tx], tile[ty + 1][tx], 0.0f)
                     + tile[ty][tx - 1] + tile[ty][tx + 1] - weight_of(fac) * tile[ty][tx];
        __syncthreads();
    }
}
