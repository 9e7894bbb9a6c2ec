// %%cuda row_past_the_image
// Fault, line 7: the guard admits rows past the image.
extern "C" __global__ void invert(const unsigned char* image, unsigned char* out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width)
        out[y * width + x] = 255 - image[y * width + x];
}
