// %%cuda case_2
__global__ void case_2(const float* in, float* out, int rows)
{
    __shared__ float line[64];
    int t = threadIdx.x;
    for (int row = 0; row + 1 < rows; ++row) { line[t] = in[64 * row + 63 - t]; out[64 * row + t] = ((volatile float*)line)[t] + in[64 * (row + 1) + t]; }
}
