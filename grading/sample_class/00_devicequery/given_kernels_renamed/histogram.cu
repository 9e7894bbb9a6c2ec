// %%cuda histogram
// Counts how often each value from 0 to 15 occurs; bins has 16 elements.
__global__ void histogram(const int* x, int n, int* bins)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        ++bins[x[i]];
}
