// %%cuda rows_of_half_a_warp
// The largest value of each row of 16: threadIdx.y changes in the middle of a warp.
extern "C" __global__ void largest(const float* a, float* row_max)
{
    __shared__ float s[8][16];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.x * 8 + y;
    s[y][x] = a[row * 16 + x];
    __syncwarp();
    for (int h = 8; h > 0; h >>= 1) {
        if (x < h) s[y][x] = fmaxf(s[y][x], s[y][x + h]);
        __syncwarp();
    }
    if (x == 0) row_max[row] = s[y][0];
}
