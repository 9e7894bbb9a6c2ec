// %%cuda turned
__global__ void turned(const float* a, float* b)
{
    __shared__ float tile[1024];
    int lane = threadIdx.x;
    a += 1024 * blockIdx.x; b += 1024 * blockIdx.x;
    #pragma unroll 4
    for (int row = 0; row < 32; ++row) tile[32 * row + (lane ^ row)] = a[32 * row + lane];
    __syncwarp();
    for (int row = 31; row >= 0; --row) b[32 * row + lane] = tile[32 * lane + (row ^ lane)];
}
