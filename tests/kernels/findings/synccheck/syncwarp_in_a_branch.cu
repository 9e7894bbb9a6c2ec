// %%cuda syncwarp_in_a_branch
// Fault, line 13: without a mask, __syncwarp waits for all 32 lanes; a mask of 16 would be right.
extern "C" __global__ void lower_half(const int* x, int* out)
{
    __shared__ int s[32];
    int lane = threadIdx.x;
    s[lane] = x[lane];
    __syncwarp();
    int v = s[lane ^ 1];
    __syncwarp();
    if (lane < 16) {
        s[lane] = 2 * v;
        __syncwarp();
        v = s[15 - lane];
    }
    v = __shfl_xor_sync(0xffffffffu, v, 16);
    out[lane] = v;
}
