// %%cuda case_3
#include <cuda_pipeline.h>
__global__ void case_3(const float* in, float* out, int rows)
{
    __shared__ float line[3][64];
    int t = threadIdx.x;
    for (int row = 0; row < rows; ++row) {
        __pipeline_memcpy_async(&line[row % 3][63 - t], &in[64 * row + t], 4);
        __pipeline_commit();
        __pipeline_wait_prior(0);
        __syncthreads();
        out[64 * row + t] = line[row % 3][t];
    }
}
