// %%cuda tile_without_space_for_halo
// Fault, line 5: 16 rows are declared, but 17 are stored.
extern "C" __global__ void row_differences(const float* a, float* out)
{
    __shared__ float s[16][16];
    int x = threadIdx.x, y = threadIdx.y;
    s[y][x] = a[y * 16 + x];
    if (y == 15)
        s[y + 1][x] = a[(y + 1) * 16 + x];
    __syncthreads();
    out[y * 16 + x] = s[y + 1][x] - s[y][x];
}
