// %%cuda lock_without_a_fence
// Fault, line 10: the new total must be visible before the lock is released.
extern "C" __global__ void add_up(const int* x, int* lock, int* total)
{
    int v = x[blockIdx.x * blockDim.x + threadIdx.x];
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            *total += v;
            atomicExch(lock, 0);
            done = true;
        }
    }
}
