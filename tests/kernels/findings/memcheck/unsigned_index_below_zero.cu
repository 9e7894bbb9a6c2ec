// %%cuda unsigned_index_below_zero
// Fault, line 6: 0u - 2 is a very large number.
extern "C" __global__ void delay(const float* x, float* out)
{
    unsigned i = threadIdx.x, before = i - 2;
    out[i] = x[i] - 0.5f * x[before];
}
