// %%cuda mandelbrot
// Escape times: a divergent loop with two exits, in each of 2x2 samples.
extern "C" __global__ void mandelbrot(unsigned char* image, int width, int height, int limit)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    int total = 0;
    for (int sy = 0; sy < 2; ++sy)
        for (int sx = 0; sx < 2; ++sx) {
            double cr = -2.25 + 3.0 * (2 * x + sx) / (2 * width), ci = -1.25 + 2.5 * (2 * y + sy) / (2 * height);
            double re = 0.0, im = 0.0;
            int k = 0;
            for (; k < limit; ++k) {
                double r2 = re * re, i2 = im * im;
                if (r2 + i2 > 4.0) break;
                im = 2.0 * re * im + ci;
                re = r2 - i2 + cr;
            }
            total += k;
        }
    image[y * width + x] = (unsigned char)(total / 4);
}
