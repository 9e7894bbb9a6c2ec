// %%cuda double_buffer_async
// The next tile is copied to shared memory, asynchronously, while the block computes on this one.
#include <cuda_pipeline.h>
#define THREADS 64

extern "C" __global__ void sum_tiles(const float4* in, float* out, int tiles)
{
    __shared__ float4 buffer[2][THREADS];
    const int t = threadIdx.x;
    const float4* mine = in + (size_t)blockIdx.x * tiles * THREADS + t;
    float sum = 0.0f;
    __pipeline_memcpy_async(&buffer[0][t], mine, sizeof(float4));
    __pipeline_commit();
    for (int tile = 0; tile < tiles; ++tile) {
        if (tile + 1 < tiles)
            __pipeline_memcpy_async(&buffer[(tile + 1) % 2][t], mine + (tile + 1) * THREADS, sizeof(float4));
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        const float4 v = buffer[tile % 2][THREADS - 1 - t];   // what another thread has copied
        sum += v.x + v.y * v.z - v.w;
        __syncthreads();
    }
    out[blockIdx.x * THREADS + t] = sum;
}
