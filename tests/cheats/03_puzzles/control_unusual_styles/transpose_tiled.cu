// %%cuda transpose.tiled --block 32 8
__global__ void transpose(float* b, const float* a, int nx, int ny)
{
    __shared__ float tile[32][32];
    int tx = threadIdx.x;
    for (int block = blockIdx.x + gridDim.x * blockIdx.y; block < (nx / 32) * (ny / 32); block += gridDim.x * gridDim.y) {
        int x = block % (nx / 32) * 32, y = block / (nx / 32) * 32;
        for (int r = threadIdx.y; r < 32; r += 8) tile[r][tx] = a[(y + r) * nx + x + tx];
        __syncthreads();
        for (int r = threadIdx.y; r < 32; r += 8) b[(x + r) * ny + y + tx] = tile[tx][r];
        __syncthreads();
    }
}
