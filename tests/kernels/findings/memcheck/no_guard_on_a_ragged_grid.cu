// %%cuda no_guard_on_a_ragged_grid
// Fault, line 6: nothing holds the last block's threads back.
extern "C" __global__ void fill(float* x, float value)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] = value;
}
