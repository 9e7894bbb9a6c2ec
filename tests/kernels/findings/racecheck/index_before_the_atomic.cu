// %%cuda index_before_the_atomic
// Fault, line 11: several threads read the same value; use the atomic's return value as the index.
extern "C" __global__ void collect(const int* x, int* out)
{
    __shared__ int count, found[64];
    int t = threadIdx.x;
    found[t] = 0;
    if (t == 0) count = 0;
    __syncthreads();
    if (x[t] > 30) {
        found[count] = x[t];
        atomicAdd(&count, 1);
    }
    __syncthreads();
    out[t] = found[t];
}
