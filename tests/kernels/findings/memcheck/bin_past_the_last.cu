// %%cuda bin_past_the_last
// Fault, line 6: the largest value, 1, belongs to the last bin, but the index is one larger.
extern "C" __global__ void histogram(const float* x, unsigned* bins)
{
    int bin = (int)(x[threadIdx.x] * 16.0f);
    atomicAdd(&bins[bin], 1u);
}
