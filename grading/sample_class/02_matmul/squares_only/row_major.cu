// %%cuda row_major --block 16 16
// Fault, line 10: the rows of C have `columns` elements, not `rows`.
extern "C" __global__ void row_major(float* C, const float* A, const float* B, int rows, int columns, int depth)
{
    int x = blockIdx.x * BLOCK_X + threadIdx.x;
    int y = blockIdx.y * BLOCK_Y + threadIdx.y;
    float sum = 0.0f;
    for (int k = 0; k < depth; ++k)
        sum += A[y * depth + k] * B[k * columns + x];
    C[y * rows + x] = sum;
}
