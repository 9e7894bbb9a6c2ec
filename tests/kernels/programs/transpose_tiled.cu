// %%cuda transpose_tiled
// A 32x32 tile, padded against bank conflicts, in blocks of 32x8: four rows a thread.
template <typename T>
__device__ void transpose(const T* in, T* out, int width, int height)
{
    __shared__ T tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int r = 0; r < 32; r += 8)
        if (x < width && y + r < height) tile[threadIdx.y + r][threadIdx.x] = in[(y + r) * width + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int r = 0; r < 32; r += 8)
        if (x < height && y + r < width) out[(y + r) * height + x] = tile[threadIdx.x][threadIdx.y + r];
}

extern "C" __global__ void transpose_float(const float* in, float* out, int width, int height)
{
    transpose(in, out, width, height);
}

extern "C" __global__ void transpose_double(const double* in, double* out, int width, int height)
{
    transpose(in, out, width, height);
}

extern "C" __global__ void transpose_bytes(const unsigned char* in, unsigned char* out, int width, int height)
{
    transpose(in, out, width, height);
}
