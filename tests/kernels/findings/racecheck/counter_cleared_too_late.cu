// %%cuda counter_cleared_too_late
// Fault, line 7: a barrier is missing after this line.
extern "C" __global__ void count_odd(const int* x, int* out)
{
    __shared__ int count;
    int t = threadIdx.x;
    if (t == 32) count = 0;
    if (x[blockIdx.x * 64 + t] & 1)
        atomicAdd(&count, 1);
    __syncthreads();
    if (t == 0) out[blockIdx.x] = count;
}
