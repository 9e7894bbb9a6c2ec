// %%cuda stencil.naive --block 32 32
// Naive: C++ style, a view of the grid with operator() and an inlined device function.
template <typename T>
struct GridView {
    T* data;
    int nx, ny, nz;
    __device__ T& operator()(int x, int y, int z) const { return data[x + nx * (y + ny * z)]; }
    __device__ bool inner(int x, int y) const { return x >= 1 && y >= 1 && x <= nx - 2 && y <= ny - 2; }
};

__device__ float seven_points(const GridView<const float>& a, int x, int y, int z, float fac)
{
    float sum = a(x - 1, y, z) + a(x + 1, y, z) + a(x, y - 1, z) + a(x, y + 1, z) + a(x, y, z - 1) + a(x, y, z + 1);
    return sum - 6.0f * a(x, y, z) / (fac * fac);
}

__global__ void block2D_naive(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    GridView<const float> in{A0, nx, ny, nz};
    GridView<float> out{Anext, nx, ny, nz};
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (in.inner(x, y))
        for (int z = 1; z < nz - 1; ++z) out(x, y, z) = seven_points(in, x, y, z, fac);
}
