// %%cuda sum_of_a_ragged_warp
// Fault, line 9: in the last warp, lanes without an element do not take part.
extern "C" __global__ void warp_sums(const int* x, int* out, int n)
{
    int i = blockIdx.x * 64 + threadIdx.x, v = 0;
    if (i < n) {
        v = x[i];
        for (int d = 16; d > 0; d /= 2)
            v += __shfl_down_sync(0xffffffffu, v, d);
    }
    __syncwarp();
    if (threadIdx.x % 32 == 0) out[i / 32] = v;
}
