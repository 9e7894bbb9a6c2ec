// %%cuda adds_to_unset_output
// Fault, line 6: out holds no value yet.
extern "C" __global__ void accumulate(const float* x, float* out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] += x[i] * x[i];
}
