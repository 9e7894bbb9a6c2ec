// %%cuda stencil.opt_2 --block 16 16
__global__ void block2D_opt_2(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    __shared__ float tile[BLOCK_Y + 2][BLOCK_X + 2];
    const int x = blockIdx.x * BLOCK_X + threadIdx.x, y = blockIdx.y * BLOCK_Y + threadIdx.y;
    const int frame = nx * ny;
    const int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    const bool inside = x < nx && y < ny, inner = x > 0 && x < nx - 1 && y > 0 && y < ny - 1;
    float queue[3] = {};
    const float* in = A0 + (inside ? x + nx * y : 0);
    queue[1] = in[0];
    queue[2] = in[frame];
    for (int z = 1; z < nz - 1; ++z) {
        #pragma unroll
        for (int q = 0; q < 2; ++q) queue[q] = queue[q + 1];
        queue[2] = in[frame * (z + 1)];
        tile[ty][tx] = queue[1];
        const float* now = in + frame * z;
        if (inner) {
            if (tx == 1) tile[ty][0] = now[-1];
            if (tx == BLOCK_X) tile[ty][tx + 1] = now[1];
            if (ty == 1) tile[0][tx] = now[-nx];
            if (ty == BLOCK_Y) tile[ty + 1][tx] = now[nx];
        }
        __syncthreads();
        if (inner)
            Anext[x + nx * y + frame * z] = queue[0] + queue[2] + tile[ty - 1][tx] + tile[ty + 1][tx]
                + tile[ty][tx - 1] + tile[ty][tx + 1] - 6.0f * queue[1] / (fac * fac);
        __syncthreads();
    }
}
