// %%cuda case_1
// Writes every row in reversed order.
__global__ void case_1(const float* in, float* out, int rows)
{
    __shared__ float line[64];
    int t = threadIdx.x;

    for (int row = 0; row < rows; ++row) {
        line[t] = in[64 * row + t];              // A
        __syncthreads();                         // B
        out[64 * row + t] = line[63 - t];        // C
        __syncthreads();
    }
}
