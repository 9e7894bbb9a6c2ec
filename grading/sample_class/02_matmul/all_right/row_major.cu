// %%cuda row_major --block 16 16
// Repaired, with pointers to a row of A and a column of B.
extern "C" __global__ void row_major(float* C, const float* A, const float* B, int rows, int columns, int depth)
{
    const int y = blockIdx.y * BLOCK_Y + threadIdx.y, x = blockIdx.x * BLOCK_X + threadIdx.x;
    const float *row = A + y * depth, *column = B + x;
    float total = 0.0f;
    for (int k = 0; k < depth; ++k, column += columns)
        total += row[k] * *column;
    C[y * columns + x] = total;
}
