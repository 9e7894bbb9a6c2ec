// %%cuda outer.plane --block 32 8
// A thread for each element of a table.
__global__ void outer(float* table, const float* row, const float* column, int nx, int ny)
{
    int x = blockIdx.x * BLOCK_X + threadIdx.x;
    int y = blockIdx.y * BLOCK_Y + threadIdx.y;
    if (x < nx)
        table[y * nx + x] = row[x] * column[y];
}
