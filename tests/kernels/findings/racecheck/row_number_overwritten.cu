// %%cuda row_number_overwritten
// Fault, line 8: thread 0 takes the next row while slow warps still read the number of this one.
extern "C" __global__ void roots(const float* x, float* out, int* next, int rows)
{
    __shared__ int row;
    for (int turn = 0; turn < rows; ++turn) {
        if (threadIdx.x == 0)
            row = atomicAdd(next, 1);
        __syncthreads();
        int mine = row;
        if (mine < rows) out[mine * 64 + threadIdx.x] = sqrtf(fabsf(x[mine * 64 + threadIdx.x]));
    }
}
