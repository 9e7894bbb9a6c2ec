// %%cuda clamped_at_the_ragged_edge
// Fault, line 8: in the last block, 29 threads write to the last element.
extern "C" __global__ void mirror(const int* x, int* out, int n)
{
    __shared__ int s[64];
    int first = blockIdx.x * 64, i = first + threadIdx.x;
    int last = min(n - first, 64) - 1, place = min((int)threadIdx.x, last);
    s[place] = i < n ? x[i] : -i;
    __syncthreads();
    if (i < n) out[i] = s[last - threadIdx.x];
}
