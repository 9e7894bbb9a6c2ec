// %%cuda case_2
// Writes every row but the last in reversed order, plus the next row.
__global__ void case_2(const float* in, float* out, int rows)
{
    __shared__ float line[64];
    int t = threadIdx.x;
    line[t] = in[t];

    for (int row = 0; row + 1 < rows; ++row) {
        float next = in[64 * (row + 1) + t];     // A
        __syncthreads();                         // B
        float sum = line[63 - t] + next;         // C
        __syncthreads();                         // E
        line[t] = next;                          // D
        out[64 * row + t] = sum;
    }
}
