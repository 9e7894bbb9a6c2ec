// %%cuda turned
// Changes from turned_slow: the columns of the tile are spread over all banks.
__global__ void turned(const float* a, float* b)
{
    __shared__ float tile[32][33];               // the last word of each row is not used
    int lane = threadIdx.x, first = 1024 * blockIdx.x;
    for (int row = 0; row < 32; ++row)
        tile[row][lane] = a[first + 32 * row + lane];
    __syncthreads();
#pragma unroll 1                                 // one word per load, as in the picture
    for (int row = 0; row < 32; ++row)
        b[first + 32 * row + lane] = tile[lane][row];
}
