// %%cuda stencil.opt_2 --block 32 8 --tile 1 4 0
// A block loops over tiles of 32 x 8 columns, gridDim.y apart.
__global__ void block2D_opt_2(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    __shared__ float tile[BLOCK_Y + 2][BLOCK_X + 2];
    int x = blockIdx.x * BLOCK_X + threadIdx.x;
    int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    int frame = nx * ny;
    int tiles = (ny + BLOCK_Y - 1) / BLOCK_Y;

    for (int t = blockIdx.y; t < tiles; t += gridDim.y) {
        int y = t * BLOCK_Y + threadIdx.y;
        bool inside = x < nx && y < ny;
        bool inner = 0 < x && x < nx - 1 && 0 < y && y < ny - 1;
        int i = x + nx * y;
        float bottom = 0.0f, top = 0.0f;
        __syncthreads();                         // the tile of the last column is no longer read
        if (inside) {
            bottom = A0[i];
            tile[ty][tx] = A0[i + frame];
        }
        for (int z = 1; z < nz - 1; ++z) {
            i += frame;
            if (inside)
                top = A0[i + frame];
            if (inner) {
                if (tx == 1)       tile[ty][0]           = A0[i - 1];
                if (tx == BLOCK_X) tile[ty][BLOCK_X + 1] = A0[i + 1];
                if (ty == 1)       tile[0][tx]           = A0[i - nx];
                if (ty == BLOCK_Y) tile[BLOCK_Y + 1][tx] = A0[i + nx];
            }
            __syncthreads();
            if (inner)
                Anext[i] = bottom + top
                         + tile[ty - 1][tx] + tile[ty + 1][tx]
                         + tile[ty][tx - 1] + tile[ty][tx + 1]
                         - 6.0f * tile[ty][tx] / (fac * fac);
            __syncthreads();
            if (inside) {
                bottom = tile[ty][tx];
                tile[ty][tx] = top;
            }
        }
    }
}
