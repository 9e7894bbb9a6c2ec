// %%cuda stencil.naive --block 32 4
// Naive: grid-stride loops in x and y, correct for any grid; here each loop runs at most once.
extern "C" __global__ void block2D_naive(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    const int plane = nx * ny;
    for (int j = 1 + blockIdx.y * blockDim.y + threadIdx.y; j < ny - 1; j += gridDim.y * blockDim.y)
        for (int i = 1 + blockIdx.x * blockDim.x + threadIdx.x; i < nx - 1; i += gridDim.x * blockDim.x)
            for (int k = 1; k < nz - 1; ++k) {
                const int c = k * plane + j * nx + i;
                const int offset[6] = {-plane, -nx, -1, 1, nx, plane};
                float sum = 0.0f;
                for (int s = 0; s < 6; ++s) sum += A0[c + offset[s]];
                Anext[c] = sum - 6.0f * A0[c] / (fac * fac);
            }
}
