// %%cuda named_barrier_hand_over
// Barrier 1 signals that the row is full, barrier 2 that it is empty; the signalling warp does not wait.
#define ARRIVE(barrier) asm volatile("bar.arrive " #barrier ", 64;" ::: "memory")
#define WAIT(barrier) asm volatile("bar.sync " #barrier ", 64;" ::: "memory")

extern "C" __global__ void hand_over(const int* x, int* out, int rows)
{
    __shared__ int row[32];
    const int lane = threadIdx.x % 32, base = blockIdx.x * rows * 32;
    if (threadIdx.x < 32) {
        for (int r = 0; r < rows; ++r) {
            WAIT(2);
            row[lane] = x[base + r * 32 + lane];
            ARRIVE(1);
        }
    } else {
        for (int r = 0; r < rows; ++r) {
            ARRIVE(2);
            WAIT(1);
            out[base + r * 32 + lane] = 2 * row[31 - lane];
        }
    }
}
