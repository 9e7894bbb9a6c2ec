// %%cuda queue_length_read_too_early
// Fault, line 11: other blocks are still adding to the queue.
extern "C" __global__ void collect(const int* x, int* queue, int* length, int* out)
{
    int i = blockIdx.x * 32 + threadIdx.x;
    if (x[i] > 40) {
        int place = atomicAdd(length, 1);
        queue[place] = i;
    }
    __syncthreads();
    out[i] = *length;
}
