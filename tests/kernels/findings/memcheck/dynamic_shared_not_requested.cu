// %%cuda dynamic_shared_not_requested
// Fault, line 5: the launch gives this array no memory.
extern "C" __global__ void mirror(const float* x, float* out)
{
    extern __shared__ float s[];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    out[t] = s[63 - t];
}
