// %%cuda global_bins_without_atomics
// Fault, line 6: += is a read and a write; other threads may write in between.
extern "C" __global__ void histogram(const int* x, int* bins)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bins[x[i]] += 1;
}
