// %%cuda overlapping_output
// Fault, line 5: blocks of 33 threads start every 32 elements.
extern "C" __global__ void rescale(const float* x, float* out)
{
    int i = blockIdx.x * 32 + threadIdx.x;
    out[i] = x[i] / (1.0f + blockIdx.x);
}
