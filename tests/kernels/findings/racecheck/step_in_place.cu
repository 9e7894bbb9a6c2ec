// %%cuda step_in_place
// Fault, line 7: the new value overwrites the old one that the neighbours need.
extern "C" __global__ void step(float* u, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x + 1;
    if (i < n - 1)
        u[i] = 0.5f * (u[i - 1] + u[i + 1]);
}
