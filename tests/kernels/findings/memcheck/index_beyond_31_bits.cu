// %%cuda index_beyond_31_bits
// Fault, line 6: 11 * 200000000 overflows an int.
extern "C" __global__ void sample(const float* x, float* out, int numerator, int denominator)
{
    int i = threadIdx.x;
    int place = i * numerator / denominator;
    out[i] = x[place];
}
