// %%cuda blocks_in_a_chain
// The sum of all previous blocks is passed from block to block: data, fence, flag.
extern "C" __global__ void add_sums_before(const int* x, int* carry, volatile int* ready, int* out)
{
    __shared__ int before;
    int b = blockIdx.x, i = b * 32 + threadIdx.x;
    int sum = __reduce_add_sync(0xffffffffu, x[i]);
    if (threadIdx.x == 0) {
        before = 0;
        if (b > 0) {
            while (ready[b - 1] == 0) { }
            __threadfence();
            before = carry[b - 1];
        }
        carry[b] = before + sum;
        __threadfence();
        ready[b] = 1;
    }
    __syncthreads();
    out[i] = x[i] + before;
}
