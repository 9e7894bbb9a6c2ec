// %%cuda no_warp_arrives
// Fault, line 9: the producer arrives at barrier 2, the consumer waits at barrier 1.
extern "C" __global__ void hand_over(const int* x, int* out)
{
    __shared__ int s[32];
    int lane = threadIdx.x % 32;
    if (threadIdx.x < 32) {
        s[lane] = x[lane];
        asm volatile("bar.arrive 2, 64;" ::: "memory");
    } else {
        asm volatile("bar.sync 1, 64;" ::: "memory");
        out[lane] = s[31 - lane];
    }
    __syncthreads();
}
