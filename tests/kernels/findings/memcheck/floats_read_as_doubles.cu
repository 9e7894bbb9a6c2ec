// %%cuda floats_read_as_doubles
// Fault, line 6: the caller's array contains floats.
extern "C" __global__ void negate(const float* x, double* out)
{
    int i = threadIdx.x;
    out[i] = -reinterpret_cast<const double*>(x)[i];
}
