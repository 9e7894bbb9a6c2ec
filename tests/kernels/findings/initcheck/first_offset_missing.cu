// %%cuda first_offset_missing
// Fault, line 6: every end is stored, but the first beginning is not.
extern "C" __global__ void lengths(const int* end, int* offsets, int* out)
{
    int t = threadIdx.x;
    offsets[t + 1] = end[t];
    __syncthreads();
    out[t] = offsets[t + 1] -
             offsets[t];
}
