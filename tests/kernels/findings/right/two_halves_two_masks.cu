// %%cuda two_halves_two_masks
// The lower sixteen lanes add, the upper sixteen find the largest value.
extern "C" __global__ void halves(const float* x, float* out)
{
    int lane = threadIdx.x & 31, half = threadIdx.x / 16;
    float v = x[threadIdx.x];
    if (lane < 16) {
        for (int d = 8; d > 0; d /= 2) v += __shfl_xor_sync(0x0000ffffu, v, d);
    } else {
        for (int d = 8; d > 0; d /= 2) v = fmaxf(v, __shfl_xor_sync(0xffff0000u, v, d));
    }
    if (lane % 16 == 0) out[half] = v;
}
