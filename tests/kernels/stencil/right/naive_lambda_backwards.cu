// %%cuda stencil.naive --block 40 6
// Naive: frames from the last to the first, with a lambda for the index and double for the sum.
extern "C" __global__ void block2D_naive(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    auto at = [=](int dx, int dy, int z) { return (long long)z * nx * ny + (long long)(j + dy) * nx + (i + dx); };
    if (!(i % nx) || !(j % ny) || i + 1 >= nx || j + 1 >= ny) return;
    for (int z = nz - 2; z > 0; --z) {
        double sum = 0.0;
        for (int side = -1; side <= 1; side += 2)
            sum += (double)A0[at(side, 0, z)] + (double)A0[at(0, side, z)] + (double)A0[at(0, 0, z + side)];
        Anext[at(0, 0, z)] = (float)(sum - 6.0 * A0[at(0, 0, z)] / ((double)fac * fac));
    }
}
