// %%cuda pair_stores_two_values
// Fault, line 7: two lanes store different values to one element.
extern "C" __global__ void halve(const int* x, int* out)
{
    __shared__ int half[32];
    int t = threadIdx.x;
    half[t / 2] = x[t];
    __syncthreads();
    out[t] = half[t / 2];
}
