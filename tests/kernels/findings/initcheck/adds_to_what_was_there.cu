// %%cuda adds_to_what_was_there
// Fault, line 6: out holds nothing yet.
extern "C" __global__ void accumulate(const float* x, float* out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] += x[i] * x[i];
}
