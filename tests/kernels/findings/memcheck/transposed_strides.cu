// %%cuda transposed_strides
// Fault, line 7: rows of the output are height long, not width.
extern "C" __global__ void transpose(const short* a, short* out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = threadIdx.y;
    if (x < width && y < height)
        out[x * width + y] = a[y * width + x];
}
