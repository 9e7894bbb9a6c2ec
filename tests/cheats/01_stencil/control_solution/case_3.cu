// %%cuda case_3
// Writes every row in reversed order; the next row is copied while the current one is used.
#include <cuda_pipeline.h>

__global__ void case_3(const float* in, float* out, int rows)
{
    __shared__ float line[2][64];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&line[0][t], &in[t], sizeof(float));
    __pipeline_commit();

    for (int row = 0; row < rows; ++row) {
        if (row + 1 < rows)                      // A: order the next row
            __pipeline_memcpy_async(&line[(row + 1) % 2][t], &in[64 * (row + 1) + t], sizeof(float));
        __pipeline_commit();                     // B
        __pipeline_wait_prior(1);                // C
        __syncthreads();                         // D
        out[64 * row + t] = line[row % 2][63 - t];    // E
        __syncthreads();                         // F
    }
}
