// %%cuda guard_with_equals
// Fault, line 6: the guard should be i < n.
extern "C" __global__ void squares(int* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) {
        int v = i * i;
        out[i] = v;
    }
}
