// %%cuda matrix_vector
// One warp a row: strided partial sums and a butterfly; blocks of 32x4.
extern "C" __global__ void matrix_vector(const float* matrix, const float* x, float* y, int rows, int columns)
{
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int k = threadIdx.x; k < columns; k += 32) sum += matrix[(size_t)row * columns + k] * x[k];
    for (int mask = 16; mask; mask /= 2) sum += __shfl_xor_sync(~0u, sum, mask);
    if (threadIdx.x == 0) y[row] = sum;
}
