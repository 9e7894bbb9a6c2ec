// %%cuda row_past_the_image
// Fault, line 7: rows past the image are let through.
extern "C" __global__ void invert(const unsigned char* image, unsigned char* out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width)
        out[y * width + x] = 255 - image[y * width + x];
}
