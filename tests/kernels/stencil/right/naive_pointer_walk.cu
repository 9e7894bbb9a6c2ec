// %%cuda stencil.naive --block 64 2
// Naive: two pointers walk along z, one frame a step, until the input's last inner frame.
extern "C" __global__ void block2D_naive(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < 1 || i > nx - 2 || j < 1 || j > ny - 2)
        return;

    ptrdiff_t frame = (ptrdiff_t)nx * ny;
    const float* in = A0 + frame + (ptrdiff_t)j * nx + i;
    const float* end = in + frame * (nz - 2);
    float* out = Anext + (in - A0);
    float scale = 1.0f / (fac * fac);
    while (in != end) {
        *out = in[-1] + in[1] + in[-nx] + in[nx] + in[-frame] + in[frame] - 6.0f * *in * scale;
        in += frame;
        out += frame;
    }
}
