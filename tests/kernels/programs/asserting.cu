// %%cuda asserting
// assert stops the kernel when its condition is false for any thread.
extern "C" __global__ void check(const int* x, int limit, int* copy)
{
    int i = threadIdx.x;
    assert(x[i] < limit);
    copy[i] = x[i];
}
