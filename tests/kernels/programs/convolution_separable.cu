// %%cuda convolution_separable
// A 9x9 filter as a pass along the rows and a pass along the columns, each with its apron in shared memory.
#define RADIUS 4
#define COLUMNS 32
#define ROWS 8
__constant__ float row_weight[2 * RADIUS + 1] = {-1, -2, -3, -4, 0, 4, 3, 2, 1};
__constant__ float column_weight[2 * RADIUS + 1] = {1, 2, 4, 8, 16, 8, 4, 2, 1};

extern "C" __global__ void along_rows(const float* in, float* out, int width, int height)
{
    __shared__ float s[ROWS][COLUMNS + 2 * RADIUS];
    int first = blockIdx.x * COLUMNS, y = blockIdx.y * ROWS + threadIdx.y;
    for (int k = threadIdx.x; k < COLUMNS + 2 * RADIUS; k += COLUMNS) {
        int x = first + k - RADIUS;
        s[threadIdx.y][k] = y < height && x >= 0 && x < width ? in[y * width + x] : 0.0f;
    }
    __syncthreads();
    int x = first + threadIdx.x;
    if (x >= width || y >= height) return;
    float sum = 0.0f;
#pragma unroll
    for (int d = 0; d <= 2 * RADIUS; ++d) sum += row_weight[d] * s[threadIdx.y][threadIdx.x + d];
    out[y * width + x] = sum;
}

extern "C" __global__ void along_columns(const float* in, float* out, int width, int height)
{
    __shared__ float s[ROWS + 2 * RADIUS][COLUMNS];
    int x = blockIdx.x * COLUMNS + threadIdx.x, first = blockIdx.y * ROWS;
    for (int k = threadIdx.y; k < ROWS + 2 * RADIUS; k += ROWS) {
        int y = first + k - RADIUS;
        s[k][threadIdx.x] = x < width && y >= 0 && y < height ? in[y * width + x] : 0.0f;
    }
    __syncthreads();
    int y = first + threadIdx.y;
    if (x >= width || y >= height) return;
    float sum = 0.0f;
#pragma unroll
    for (int d = 0; d <= 2 * RADIUS; ++d) sum += column_weight[d] * s[threadIdx.y + d][threadIdx.x];
    out[y * width + x] = sum;
}
