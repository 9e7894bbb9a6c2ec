// %%cuda stencil.naive --block 16 4 2 --tile 1 1 1
// Ein Punkt je Thread, mit einem Index für alles.
__global__ void block2D_naive(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    const long long x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    const long long z = blockIdx.z * blockDim.z + threadIdx.z, at[] = {1, nx, (long long)nx * ny};
    if (!(x * y * z) || x + 2 > nx || y + 2 > ny || z + 2 > nz) return;
    if (x == nx - 1 || y == ny - 1 || z == nz - 1) return;
    const size_t i = x + nx * (y + (size_t)ny * z);
    float sum = 0;
    for (auto d : at) sum += A0[i - d] + A0[i + d];
    Anext[i] = sum - 6 * A0[i] / (fac * fac);
}
