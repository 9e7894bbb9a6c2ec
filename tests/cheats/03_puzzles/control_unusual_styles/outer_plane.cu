// %%cuda outer.plane --block 64 4
__global__ void outer(float* table, const float* row, const float* column, int nx, int ny)
{
    __shared__ float r[BLOCK_X], c[BLOCK_Y];
    int x = blockIdx.x * BLOCK_X + threadIdx.x, y = blockIdx.y * BLOCK_Y + threadIdx.y;
    if (threadIdx.y == 0 && x < nx) r[threadIdx.x] = row[x];
    if (threadIdx.x == 0 && y < ny) c[threadIdx.y] = column[y];
    __syncthreads();
    if (x < nx && y < ny) table[y * nx + x] = r[threadIdx.x] * c[threadIdx.y];
}
