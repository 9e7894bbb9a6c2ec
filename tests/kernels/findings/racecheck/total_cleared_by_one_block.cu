// %%cuda total_cleared_by_one_block
// Fault, line 6: the other blocks do not wait for this.
extern "C" __global__ void sum(const int* x, int* total)
{
    int i = blockIdx.x * 64 + threadIdx.x;
    if (i == 0) *total = 0;
    __syncthreads();
    atomicAdd(total, x[i]);
}
