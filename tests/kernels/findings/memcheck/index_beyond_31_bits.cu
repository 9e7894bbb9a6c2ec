// %%cuda index_beyond_31_bits
// Fault, line 5: 11 * 200000000 is more than an int holds.
extern "C" __global__ void sample(const float* x, float* out, int stride)
{
    int row = threadIdx.x, far = row * stride;
    out[row] = far < 0 ?
               x[far] :
               x[row];
}
