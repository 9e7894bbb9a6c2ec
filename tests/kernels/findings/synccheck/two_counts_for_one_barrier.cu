// %%cuda two_counts_for_one_barrier
// Fault, line 11: the consumer waits for 96 threads, but 64 take part.
extern "C" __global__ void hand_over(const int* x, int* out)
{
    __shared__ int s[32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (warp == 0) {
        s[lane] = x[lane];
        asm volatile("bar.arrive 1, 64;" ::: "memory");
    } else if (warp == 1) {
        asm volatile("bar.sync 1, 96;" ::: "memory");
        out[lane] = s[31 - lane];
    }
}
