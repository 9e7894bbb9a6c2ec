// %%cuda stencil.opt_1 --block 8 16
// The threads of the block are numbered in one row; they fill the tile with its halo in a loop.
struct Frame { float point[BLOCK_Y + 2][BLOCK_X + 2]; };
template <int Axis> __device__ float both(const Frame& f, int x, int y)
{
    return Axis ? f.point[y - 1][x] + f.point[y + 1][x] : f.point[y][x - 1] + f.point[y][x + 1];
}
__global__ void block2D_opt_1(float fac, const float* __restrict__ A0, float* __restrict__ Anext, int nx, int ny, int nz)
{
    __shared__ Frame frame;
    const int rank = threadIdx.y * BLOCK_X + threadIdx.x, x0 = blockIdx.x * BLOCK_X - 1, y0 = blockIdx.y * BLOCK_Y - 1;
    const int x = x0 + 1 + threadIdx.x, y = y0 + 1 + threadIdx.y;
    const bool mine = x > 0 && y > 0 && x < nx - 1 && y < ny - 1;
    size_t plane = (size_t)nx * ny, i = plane + (size_t)y * nx + x;
    for (int z = 1; z < nz - 1; ++z, i += plane) {
        for (int k = rank; k < (BLOCK_X + 2) * (BLOCK_Y + 2); k += BLOCK_X * BLOCK_Y) {
            const int u = k % (BLOCK_X + 2), v = k / (BLOCK_X + 2), gx = x0 + u, gy = y0 + v;
            if (gx >= 0 && gy >= 0 && gx < nx && gy < ny) frame.point[v][u] = A0[z * plane + (size_t)gy * nx + gx];
        }
        __syncthreads();
        if (mine) {
            const int u = threadIdx.x + 1, v = threadIdx.y + 1;
            Anext[i] = both<0>(frame, u, v) + both<1>(frame, u, v) + A0[i - plane] + A0[i + plane]
                     - 6.0f / fac / fac * frame.point[v][u];
        }
        __syncthreads();
    }
}
