// %%cuda two_masks_for_one_shuffle
// Fault, line 6: the lower lanes pass a mask of sixteen, the upper lanes a mask of all.
extern "C" __global__ void largest(const int* x, int* out)
{
    int lane = threadIdx.x, v = x[lane];
    unsigned mask = lane < 16 ? 0x0000ffffu : 0xffffffffu;
    v = max(v, __shfl_xor_sync(mask, v, 1));
    out[lane] = v;
}
