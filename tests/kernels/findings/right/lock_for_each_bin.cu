// %%cuda lock_for_each_bin
// Smallest and largest value of each key, both changed under the lock of the key.
extern "C" __global__ void ranges(const int* key, const float* x, float* low, float* high)
{
    __shared__ int lock[8];
    __shared__ float least[8], most[8];
    int t = threadIdx.x;
    if (t < 8) {
        lock[t] = 0;
        least[t] = 2.0f;
        most[t] = -2.0f;
    }
    __syncthreads();
    int k = key[t];
    for (bool done = false; !done; ) {
        if (atomicExch(&lock[k], 1) == 0) {
            __threadfence_block();
            least[k] = fminf(least[k], x[t]);
            most[k] = fmaxf(most[k], x[t]);
            __threadfence_block();
            atomicExch(&lock[k], 0);
            done = true;
        }
    }
    __syncthreads();
    if (t < 8) {
        low[t] = least[t];
        high[t] = most[t];
    }
}
