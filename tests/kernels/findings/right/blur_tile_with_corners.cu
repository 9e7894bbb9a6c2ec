// %%cuda blur_tile_with_corners
// 256 threads load 324 elements: each element by one thread, some threads two elements.
extern "C" __global__ void blur(const float* a, float* out, int width, int height)
{
    __shared__ float s[18 * 18];
    int x0 = blockIdx.x * 16, y0 = blockIdx.y * 16;
    for (int c = threadIdx.y * 16 + threadIdx.x; c < 324; c += 256) {
        int x = x0 + c % 18 - 1, y = y0 + c / 18 - 1;
        s[c] = x >= 0 && x < width && y >= 0 && y < height ? a[y * width + x] : 0.0f;
    }
    __syncthreads();
    int x = x0 + threadIdx.x, y = y0 + threadIdx.y;
    if (x >= width || y >= height) return;
    float sum = 0.0f;
    for (int dy = 0; dy < 3; ++dy)
        for (int dx = 0; dx < 3; ++dx) sum += s[(threadIdx.y + dy) * 18 + threadIdx.x + dx];
    out[y * width + x] = sum / 9.0f;
}
