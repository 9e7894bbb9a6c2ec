// %%cuda shared_index_of_minus_one
// Fault, line 9: thread 0 reads its left neighbour.
extern "C" __global__ void rises(const int* x, int* out)
{
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    out[t] = s[t] > s[t - 1];
}
