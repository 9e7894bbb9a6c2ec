// %%cuda shared_bins_without_atomics
// Fault, line 9: ++ loses counts if two threads increment the same bin.
extern "C" __global__ void histogram(const unsigned char* data, unsigned* out)
{
    __shared__ unsigned bins[8];
    int t = threadIdx.x;
    if (t < 8) bins[t] = 0;
    __syncthreads();
    bins[data[t]]++;
    __syncthreads();
    if (t < 8) out[t] = bins[t];
}
