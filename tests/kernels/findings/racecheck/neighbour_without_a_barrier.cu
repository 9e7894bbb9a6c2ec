// %%cuda neighbour_without_a_barrier
// Fault, line 8: no barrier between the stores and this read.
extern "C" __global__ void difference(const float* x, float* out)
{
    __shared__ float s[128];
    int t = threadIdx.x, i = blockIdx.x * 128 + t;
    s[t] = x[i];
    out[i] = s[(t + 1) % 128] - x[i];
}
