// %%cuda halo_from_another_warp
// Fault, line 10: this is enough inside a warp, but not at its two ends.
extern "C" __global__ void second_difference(const double* x, double* out)
{
    __shared__ double s[98];
    int t = threadIdx.x + 1;
    s[t] = x[t];
    if (t == 1) s[0] = x[0];
    if (t == 96) s[97] = x[97];
    __syncwarp();
    out[t - 1] = s[t - 1] +
                 s[t + 1] - 2.0 * s[t];
}
