// %%cuda no_guard_on_a_ragged_grid
// Fault, line 6: threads past the end also write.
extern "C" __global__ void fill(float* x, float value)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] = value;
}
