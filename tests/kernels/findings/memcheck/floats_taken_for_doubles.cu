// %%cuda floats_taken_for_doubles
// Fault, line 6: the caller's array has floats in it.
extern "C" __global__ void negate(const double* x, double* out)
{
    int i = threadIdx.x;
    out[i] = -x[i];
}
