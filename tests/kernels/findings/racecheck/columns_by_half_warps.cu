// %%cuda columns_by_half_warps
// Fault, line 8: a column of the tile was written by eight warps.
extern "C" __global__ void transpose(const float* a, float* out)
{
    __shared__ float s[16][17];
    int x = threadIdx.x, y = threadIdx.y;
    s[y][x] = a[y * 16 + x];
    __syncwarp();
    out[y * 16 + x] = s[x][y];
}
