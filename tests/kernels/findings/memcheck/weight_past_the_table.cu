// %%cuda weight_past_the_table
// Fault, line 9: the caller's window is wider than the table.
__constant__ float weight[5] = {0.1f, 0.2f, 0.4f, 0.2f, 0.1f};

extern "C" __global__ void window(const float* x, float* out, int width)
{
    float sum = 0.0f;
    for (int k = 0; k < width; ++k)
        sum += weight[k] * x[threadIdx.x + k];
    out[threadIdx.x] = sum;
}
