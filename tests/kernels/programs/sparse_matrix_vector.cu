// %%cuda sparse_matrix_vector
// y = A x for a sparse A in compressed rows: a thread a row, a warp a row, and eight lanes a row.
extern "C" __global__ void csr_scalar(const int* start, const int* column, const float* value, const float* x,
                                      float* y, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int k = start[row]; k < start[row + 1]; ++k) sum += value[k] * x[column[k]];
    y[row] = sum;
}

template <int LANES>
__device__ void csr_vector(const int* start, const int* column, const float* value, const float* x, float* y, int rows)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / LANES, lane = threadIdx.x % LANES;
    float sum = 0.0f;
    if (row < rows)
        for (int k = start[row] + lane; k < start[row + 1]; k += LANES) sum += value[k] * x[column[k]];
    for (int d = LANES / 2; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffffu, sum, d, LANES);
    if (row < rows && lane == 0) y[row] = sum;
}

extern "C" __global__ void csr_vector32(const int* start, const int* column, const float* value, const float* x,
                                        float* y, int rows)
{
    csr_vector<32>(start, column, value, x, y, rows);
}

extern "C" __global__ void csr_vector8(const int* start, const int* column, const float* value, const float* x,
                                       float* y, int rows)
{
    csr_vector<8>(start, column, value, x, y, rows);
}
