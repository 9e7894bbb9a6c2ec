// %%cuda shuffle_in_a_branch
// Fault, line 8: the mask contains lanes 16 to 31, which do not take this branch.
extern "C" __global__ void halves(const float* x, float* out)
{
    float v = x[threadIdx.x];
    if (threadIdx.x < 16) {
        v *= 2.0f;
        v += __shfl_xor_sync(0xffffffffu, v, 1);
        out[threadIdx.x] = v;
    }
    v = __shfl_down_sync(0xffffffffu, v, 4);
    if (threadIdx.x >= 16) out[threadIdx.x] = v;
}
