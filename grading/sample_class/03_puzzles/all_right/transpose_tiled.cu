// %%cuda transpose.tiled --block 32 32
// A tile in shared memory between a load by rows and a store by rows.
__global__ void transpose(float* b, const float* a, int nx, int ny)
{
    __shared__ float tile[32][32];
    int x = blockIdx.x * 32, y = blockIdx.y * 32;    // the first element of the tile in a
    int tx = threadIdx.x, ty = threadIdx.y;
    tile[ty][tx] = a[(y + ty) * nx + x + tx];
    __syncthreads();
    b[(x + ty) * ny + y + tx] = tile[tx][ty];
}
