// %%cuda case_1
__global__ void case_1(const float* in, float* out, int rows)
{
    __shared__ float line[64];
    int t = threadIdx.x;
    for (int row = 0; row < rows; ++row) { line[t] = in[64 * row + 63 - t]; out[64 * row + t] = ((volatile float*)line)[t]; }
}
