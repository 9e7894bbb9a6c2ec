// %%cuda case_1
#include <cuda/barrier>
__global__ void case_1(const float* in, float* out, int rows)
{
    __shared__ float line[64];
    __shared__ cuda::barrier<cuda::thread_scope_block> all;
    int t = threadIdx.x;
    if (t == 0) init(&all, 64);
    __syncthreads();
    for (int row = 0; row < rows; ++row) {
        line[t] = in[64 * row + t];
        all.arrive_and_wait();
        out[64 * row + t] = line[63 - t];
        all.arrive_and_wait();
    }
}
