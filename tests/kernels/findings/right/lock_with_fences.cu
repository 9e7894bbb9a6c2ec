// %%cuda lock_with_fences
// A critical section: the owner of the lock changes sum and count.
extern "C" __global__ void add_up(const int* x, int* lock, int* total)
{
    int v = x[blockIdx.x * blockDim.x + threadIdx.x];
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            __threadfence();
            total[0] += v;
            total[1] += 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    }
}
