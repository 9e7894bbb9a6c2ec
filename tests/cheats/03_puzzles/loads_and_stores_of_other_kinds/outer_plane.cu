// %%cuda outer.plane --block 32 8
__global__ void outer(float* table, const float* row, const float* column, int nx, int ny)
{
    for (int k = blockIdx.x * BLOCK_X + threadIdx.x + gridDim.x * BLOCK_X * (blockIdx.y * BLOCK_Y + threadIdx.y); k < nx * ny; k += gridDim.x * BLOCK_X * gridDim.y * BLOCK_Y) {
        int x = k / ny, y = k % ny;
        atomicExch(table + y * nx + x, row[x] * column[y]);
    }
}
