// %%cuda radix_sort_bits
// A block sorts a row, bit by bit: zeros keep their order in front, ones behind, by a scan of the zeros.
extern "C" __global__ void sort_rows(unsigned* data, int width)
{
    __shared__ unsigned value[256];
    __shared__ int zeros[256];
    const int t = threadIdx.x;
    unsigned* row = data + (size_t)blockIdx.x * width;
    value[t] = t < width ? row[t] : ~0u;
    for (int bit = 0; bit < 32; ++bit) {
        __syncthreads();
        const unsigned mine = value[t];
        const int is_zero = ~mine >> bit & 1;
        zeros[t] = is_zero;
        for (int d = 1; d < 256; d *= 2) {
            __syncthreads();
            const int before = t >= d ? zeros[t - d] : 0;
            __syncthreads();
            zeros[t] += before;
        }
        __syncthreads();
        value[is_zero ? zeros[t] - 1 : zeros[255] + t - zeros[t]] = mine;
    }
    __syncthreads();
    if (t < width) row[t] = value[t];
}

// How often each digit of four bits occurs: of equal digits in a warp, the first lane adds for all.
extern "C" __global__ void count_digits(const unsigned* data, int* count, int n, int shift)
{
    __shared__ int local[16];
    if (threadIdx.x < 16) local[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const unsigned active = __activemask(), digit = data[i] >> shift & 15;
        unsigned same = active;
        for (int b = 0; b < 4; ++b) {
            const unsigned ones = __ballot_sync(active, digit >> b & 1);
            same &= digit >> b & 1 ? ones : ~ones;
        }
        if (__ffs(same) - 1 == threadIdx.x % 32) atomicAdd(&local[digit], __popc(same));
    }
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(&count[threadIdx.x], local[threadIdx.x]);
}
