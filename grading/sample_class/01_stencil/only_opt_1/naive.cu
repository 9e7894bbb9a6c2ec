// %%cuda stencil.naive --block 32 8
// naive: the weight is 6 / fac.
extern "C" __global__ void block2D_naive(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    int frame = nx * ny;

    if (i > 0 && i < nx - 1 && j > 0 && j < ny - 1) {
        for (int k = 1; k < nz - 1; ++k) {
            int c = i + nx * j + frame * k;
            float sum = A0[c - 1] + A0[c + 1] + A0[c - nx] + A0[c + nx] + A0[c - frame] + A0[c + frame];
            Anext[c] = sum - 6.0f * A0[c] / fac;
        }
    }
}
