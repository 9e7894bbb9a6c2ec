// %%cuda transpose_ragged
// A 32 x 32 tile in blocks of 32 x 8: the guards enclose the accesses, but not the barrier.
extern "C" __global__ void transpose(const double* a, double* out, int width, int height)
{
    __shared__ double tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y0 = blockIdx.y * 32;
    for (int r = threadIdx.y; r < 32; r += 8)
        if (x < width && y0 + r < height) tile[r][threadIdx.x] = a[(y0 + r) * width + x];
    __syncthreads();
    int y = y0 + threadIdx.x, x0 = blockIdx.x * 32;
    for (int r = threadIdx.y; r < 32; r += 8)
        if (y < height && x0 + r < width) out[(x0 + r) * height + y] = tile[threadIdx.x][r];
}
