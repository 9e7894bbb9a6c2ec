// %%cuda pixels_across_the_end
// Fault, line 7: the guard checks only the first of four bytes.
extern "C" __global__ void brightness(const uchar4* pixels, int* out, int bytes)
{
    int i = threadIdx.x;
    if (4 * i >= bytes) return;
    uchar4 p = pixels[i];
    out[i] = p.x + p.y + p.z + p.w;
}
