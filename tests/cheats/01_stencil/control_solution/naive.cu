// %%cuda stencil.naive --block 32 8
// Every thread loads all seven points from global memory, in every frame.
__global__ void block2D_naive(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    int x = blockIdx.x * BLOCK_X + threadIdx.x;
    int y = blockIdx.y * BLOCK_Y + threadIdx.y;
    bool inner = 0 < x && x < nx - 1 && 0 < y && y < ny - 1;
    int frame = nx * ny;                         // from one frame to the next

    for (int z = 1; z < nz - 1; ++z) {
        int i = x + nx * y + frame * z;
        if (inner)
            Anext[i] = A0[i - frame] + A0[i + frame]
                     + A0[i - nx] + A0[i + nx]
                     + A0[i - 1] + A0[i + 1]
                     - 6.0f * A0[i] / (fac * fac);
    }
}
