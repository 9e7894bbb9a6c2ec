// %%cuda stencil.naive --block 16 4 4 --tile 1 1 1
// Naive: a three-dimensional block and grid, one point a thread and no loop at all.
extern "C" __global__ void block2D_naive(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    int k = blockIdx.z * blockDim.z + threadIdx.z;
    if (i < 1 || j < 1 || k < 1) return;
    if (i > nx - 2 || j > ny - 2 || k > nz - 2) return;
    int c = (k * ny + j) * nx + i;
    Anext[c] = A0[c + 1] + A0[c - 1] + A0[c + nx] + A0[c - nx] + A0[c + nx * ny] + A0[c - nx * ny]
             - A0[c] * 6.0f / (fac * fac);
}
