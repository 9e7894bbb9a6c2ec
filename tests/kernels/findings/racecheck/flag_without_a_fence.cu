// %%cuda flag_without_a_fence
// Fault, line 9: the flag may become visible before the data.
extern "C" __global__ void pass_on(const int* x, int* data, volatile int* flag, int* out)
{
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        data[t] = 2 * x[t];
        __syncthreads();
        if (t == 0) *flag = 1;
    } else {
        if (t == 0)
            while (*flag == 0) { }
        __syncthreads();
        out[t] = data[31 - t];
    }
}
