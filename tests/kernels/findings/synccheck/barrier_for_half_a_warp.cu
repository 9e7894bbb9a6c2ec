// %%cuda barrier_for_half_a_warp
// Fault, line 11: lanes 16 to 31 skip this barrier.
extern "C" __global__ void halves(const float* x, float* out)
{
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = 0.0f;
    __syncthreads();
    if (t % 32 < 16) {
        s[t] = x[t];
        __syncthreads();
        out[t] = s[t] + 1.0f;
    } else {
        out[t] = x[t];
    }
    __syncthreads();
    out[t] += s[63 - t];
}
