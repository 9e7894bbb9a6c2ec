// %%cuda ticket_counter_never_set
// Fault, line 7: the counter starts with an undefined value.
extern "C" __global__ void collect(const int* x, int* queue, unsigned* length)
{
    int v = x[blockIdx.x * 32 + threadIdx.x];
    if (v > 50) {
        unsigned place = atomicAdd(length, 1u);
        if (place < 64) queue[place] = v;
    }
}
