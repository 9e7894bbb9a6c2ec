// %%cuda every_other_byte
// Fault, line 6: the odd bytes are left out.
extern "C" __global__ void mark(unsigned char* mask, int* out)
{
    int t = threadIdx.x;
    mask[2 * t] = t % 3 == 0;
    __syncthreads();
    out[t] = mask[t];
    out[t + 32] = mask[t + 32];
}
