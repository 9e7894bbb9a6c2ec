// %%cuda shared_array_for_half_the_block
// Fault, line 5: the array is declared for blocks of 64.
extern "C" __global__ void mirror(const float* x, float* out)
{
    __shared__ float s[64];
    int t = threadIdx.x, last = blockDim.x - 1;
    s[t] = x[t];
    __syncthreads();
    out[t] = s[last - t];
}
