// %%cuda second_dynamic_array
// Fault, line 6: rank is never written.
extern "C" __global__ void pick(const double* x, double* out)
{
    extern __shared__ double value[];
    int* rank = (int*)(value + 32);
    int t = threadIdx.x;
    value[t] = x[t];
    __syncthreads();
    out[t] = value[t] +
             rank[t ^ 1];
}
