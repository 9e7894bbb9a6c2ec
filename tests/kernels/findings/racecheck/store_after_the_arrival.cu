// %%cuda store_after_the_arrival
// Fault, line 8: the consumer does not wait for stores after bar.arrive.
extern "C" __global__ void hand_over(const int* x, int* out)
{
    __shared__ int s[32];
    int lane = threadIdx.x % 32;
    if (threadIdx.x < 32) {
        asm volatile("bar.arrive 1, 64;" ::: "memory");
        s[lane] = x[lane];
    } else {
        asm volatile("bar.sync 1, 64;" ::: "memory");
        out[lane] = s[31 - lane];
    }
}
