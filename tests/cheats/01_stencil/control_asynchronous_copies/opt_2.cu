// %%cuda stencil.opt_2 --block 32 8
// A ring of three whole frames of the block, with corners, in shared memory.
#define AT(x, y, z) ((size_t)(x) + (size_t)nx * ((y) + (size_t)ny * (z)))

__global__ void block2D_opt_2(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    __shared__ float ring[3][BLOCK_Y + 2][BLOCK_X + 2];
    const int x = blockIdx.x * BLOCK_X + threadIdx.x, y = blockIdx.y * BLOCK_Y + threadIdx.y;
    const int tx = threadIdx.x + 1, ty = threadIdx.y + 1;

    auto fill = [&](int z) {
        for (int j = threadIdx.y; j < BLOCK_Y + 2; j += BLOCK_Y)
            for (int i = threadIdx.x; i < BLOCK_X + 2; i += BLOCK_X) {
                const int u = (int)(blockIdx.x * BLOCK_X) + i - 1, v = (int)(blockIdx.y * BLOCK_Y) + j - 1;
                ring[z % 3][j][i] = u >= 0 && u < nx && v >= 0 && v < ny ? A0[AT(u, v, z)] : 0.0f;
            }
    };

    fill(0);
    fill(1);
    for (int z = 1; z < nz - 1; z++) {
        fill(z + 1);
        __syncthreads();
        const auto& here = ring[z % 3];
        if (x > 0 && x < nx - 1 && y > 0 && y < ny - 1)
            Anext[AT(x, y, z)] = here[ty][tx - 1] + here[ty][tx + 1] + here[ty - 1][tx] + here[ty + 1][tx]
                               + ring[(z + 2) % 3][ty][tx] + ring[(z + 1) % 3][ty][tx]
                               - 6.0f * here[ty][tx] / (fac * fac);
        __syncthreads();
    }
}
