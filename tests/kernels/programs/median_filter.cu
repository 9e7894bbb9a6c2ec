// %%cuda median_filter
// A 3x3 median of bytes by an unrolled sorting network in registers, and Sobel edges with the border clamped.
__device__ void order(unsigned char& a, unsigned char& b)
{
    const unsigned char low = min(a, b);
    b = max(a, b);
    a = low;
}

__device__ int at(const unsigned char* image, int width, int height, int x, int y)
{
    return image[min(max(y, 0), height - 1) * width + min(max(x, 0), width - 1)];
}

extern "C" __global__ void median(const unsigned char* in, unsigned char* out, int width, int height)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    unsigned char v[9];
    for (int k = 0; k < 9; ++k) v[k] = at(in, width, height, x + k % 3 - 1, y + k / 3 - 1);
#pragma unroll
    for (int i = 0; i < 5; ++i)
#pragma unroll
        for (int k = 8; k > i; --k) order(v[k - 1], v[k]);
    out[y * width + x] = v[4];
}

extern "C" __global__ void sobel(const unsigned char* in, unsigned char* out, int width, int height)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    int gx = 0, gy = 0;
    for (int d = -1; d <= 1; ++d) {
        const int weight = 2 - abs(d);
        gx += weight * (at(in, width, height, x + 1, y + d) - at(in, width, height, x - 1, y + d));
        gy += weight * (at(in, width, height, x + d, y + 1) - at(in, width, height, x + d, y - 1));
    }
    out[y * width + x] = min(255, __float2int_rn(sqrtf(gx * gx + gy * gy)));
}
