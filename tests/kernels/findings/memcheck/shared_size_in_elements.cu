// %%cuda shared_size_in_elements
// Fault, line 5: the launch passes a number of elements, but CUDA expects bytes.
extern "C" __global__ void rotate(const double* x, double* out)
{
    extern __shared__ double s[];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    out[t] = s[(t + 9) % 64];
}
