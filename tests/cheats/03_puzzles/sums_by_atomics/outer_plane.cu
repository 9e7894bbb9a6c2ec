// %%cuda outer.plane --block 8 32
__global__ void outer(float* table, const float* row, const float* column, int nx, int ny)
{
    int y = blockIdx.x * BLOCK_X + threadIdx.x, x = blockIdx.y * BLOCK_Y + threadIdx.y;
    for (int yy = y; yy < ny; yy += gridDim.x * BLOCK_X) for (int xx = x; xx < nx; xx += gridDim.y * BLOCK_Y) table[yy * nx + xx] = row[xx] * column[yy];
}
