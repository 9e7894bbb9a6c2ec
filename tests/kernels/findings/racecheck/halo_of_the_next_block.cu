// %%cuda halo_of_the_next_block
// Fault, line 7: __syncthreads synchronizes only this block.
extern "C" __global__ void two_steps(const float* u, float* v, float* w)
{
    int i = blockIdx.x * 32 + threadIdx.x + 1;
    v[i] = 0.5f * (u[i - 1] + u[i + 1]);
    __syncthreads();
    w[i] = 0.5f * (v[i - 1] +
                   v[i + 1]);
}
