// %%cuda elements_taken_for_bytes
// Fault, line 5: the launch counts elements, the device counts bytes.
extern "C" __global__ void rotate(const double* x, double* out)
{
    extern __shared__ double s[];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    out[t] = s[(t + 9) % 64];
}
