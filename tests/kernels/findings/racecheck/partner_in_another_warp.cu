// %%cuda partner_in_another_warp
// Fault, line 8: t ^ 32 is in another warp, which __syncwarp does not synchronize.
extern "C" __global__ void butterfly(const float* x, float* out)
{
    __shared__ float s[128];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncwarp();
    float v = s[t] + s[t ^ 16] +
              s[t ^ 32];
    out[t] = v;
}
