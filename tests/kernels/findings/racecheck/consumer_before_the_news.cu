// %%cuda consumer_before_the_news
// Fault, line 8: what is stored after bar.arrive nobody waits for.
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
