// %%cuda async_copy_two_stages
// The next row is copied to shared memory while this one is used.
#include <cuda_pipeline.h>

extern "C" __global__ void neighbour_sum(const float* x, float* out, int rows)
{
    __shared__ float stage[2][64];
    const int t = threadIdx.x;
    const float* mine = x + blockIdx.x * rows * 64 + t;
    float sum = 0.0f;
    __pipeline_memcpy_async(&stage[0][t], mine, 4);
    __pipeline_commit();
    for (int r = 0; r < rows; ++r) {
        if (r + 1 < rows) __pipeline_memcpy_async(&stage[(r + 1) & 1][t], mine + (r + 1) * 64, 4);
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        sum += stage[r & 1][(t + 1) % 64];
        __syncthreads();
    }
    out[blockIdx.x * 64 + t] = sum;
}
