// %%cuda bins_never_cleared
// Fault, line 5: the bins must be set to zero first.
extern "C" __global__ void histogram(const unsigned char* data, unsigned* bins)
{
    __shared__ unsigned count[32];
    int t = threadIdx.x;
    atomicAdd(&count[data[t]], 1u);
    __syncthreads();
    if (t < 32)
        atomicAdd(&bins[t], count[t]);
}
