// %%cuda odd_even_merge_sort
// Batcher's network: a block sorts 128 numbers in shared memory, then one launch for each step of the longer merges.
__device__ void order(unsigned& a, unsigned& b)
{
    const unsigned low = min(a, b);
    b = max(a, b);
    a = low;
}

// Which pair thread t compares when runs of `size` are merged at a distance of `stride`; -1 when none.
__device__ int first_of_pair(int t, int size, int stride)
{
    const int low = 2 * t - (t & (stride - 1));
    if (stride == size / 2) return low;
    return (t & (size / 2 - 1)) >= stride ? low - stride : -1;
}

extern "C" __global__ void sort_blocks(unsigned* data)
{
    __shared__ unsigned s[128];
    const int t = threadIdx.x;
    unsigned* mine = data + blockIdx.x * 128;
    s[t] = mine[t];
    s[t + 64] = mine[t + 64];
    for (int size = 2; size <= 128; size *= 2)
        for (int stride = size / 2; stride > 0; stride /= 2) {
            __syncthreads();
            const int a = first_of_pair(t, size, stride);
            if (a >= 0) order(s[a], s[a + stride]);
        }
    __syncthreads();
    mine[t] = s[t];
    mine[t + 64] = s[t + 64];
}

extern "C" __global__ void merge_step(unsigned* data, int pairs, int size, int stride)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= pairs) return;
    const int a = first_of_pair(t, size, stride);
    if (a >= 0) order(data[a], data[a + stride]);
}
