// %%cuda last_block_without_a_fence
// Fault, line 12: the ticket may become visible before the partial sum.
extern "C" __global__ void sum(const int* x, int* partial, unsigned* tickets, int* total)
{
    __shared__ int s;
    if (threadIdx.x == 0) s = 0;
    __syncthreads();
    atomicAdd(&s, x[blockIdx.x * 64 + threadIdx.x]);
    __syncthreads();
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = s;
        if (atomicAdd(tickets, 1u) == gridDim.x - 1) {
            int all = 0;
            for (int b = 0; b < gridDim.x; ++b)
                all += partial[b];
            *total = all;
        }
    }
}
