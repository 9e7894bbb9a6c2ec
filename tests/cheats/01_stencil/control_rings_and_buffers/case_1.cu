// %%cuda case_1
__global__ void case_1(const float* in, float* out, int rows)
{
    __shared__ float line[2][64];
    int t = threadIdx.x;
    for (int row = 0; row < rows; ++row) {
        line[row & 1][t] = in[64 * row + t];
        __syncthreads();
        out[64 * row + t] = line[row & 1][63 - t];
    }
}
