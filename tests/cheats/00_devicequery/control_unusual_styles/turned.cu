// %%cuda turned
__global__ void turned(const float* a, float* b)
{
    __shared__ float tile[1024];
    const int l = threadIdx.x; a += 1024 * blockIdx.x; b += 1024 * blockIdx.x;
    for (int r = 0; r < 32; ++r) tile[32 * r + ((l + r) & 31)] = a[32 * r + l];   // rotated rows
    __syncwarp();
    for (int r = 0; r < 32; ++r) b[32 * r + l] = tile[32 * l + ((r + l) & 31)];
}
