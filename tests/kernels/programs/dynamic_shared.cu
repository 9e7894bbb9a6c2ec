// %%cuda dynamic_shared
// Two arrays of different types carved out of one dynamic shared allocation, beside a static one.
extern "C" __global__ void rank_in_block(const double* x, double* sorted, int* ranks)
{
    extern __shared__ __align__(8) unsigned char raw[];
    __shared__ int smaller_total;
    double* value = (double*)raw;
    int* rank = (int*)(value + blockDim.x);
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    if (t == 0) smaller_total = 0;
    value[t] = x[i];
    __syncthreads();
    int smaller = 0;
    for (int k = 0; k < blockDim.x; ++k) smaller += value[k] < value[t] || (value[k] == value[t] && k < t);
    rank[smaller] = t;
    atomicAdd(&smaller_total, smaller);
    __syncthreads();
    sorted[i] = value[rank[t]];
    ranks[i] = smaller + (smaller_total == (int)(blockDim.x * (blockDim.x - 1) / 2) ? 0 : 1000000);
}
