// %%cuda mask_without_the_caller
// Fault, line 7: all 32 lanes pass a mask of 16 lanes.
extern "C" __global__ void sum(const int* x, int* out)
{
    int v = x[threadIdx.x];
    for (int d = 8; d > 0; d /= 2)
        v += __shfl_xor_sync(0x0000ffffu, v, d);
    out[threadIdx.x] = v;
}
