// %%cuda turned
// Lane k stores row r in column (r + k) % 32, so rows and columns are both spread over all banks.
__global__ void turned(const float* a, float* b)
{
    __shared__ float tile[32 * 32];
    const int lane = threadIdx.x, first = 1024 * blockIdx.x;
    for (int row = 0; row < 32; ++row)
        tile[32 * row + (lane + row) % 32] = a[first + 32 * row + lane];
    __syncthreads();
    for (int row = 0; row < 32; ++row)
        b[first + 32 * row + lane] = tile[32 * lane + (row + lane) % 32];
}
