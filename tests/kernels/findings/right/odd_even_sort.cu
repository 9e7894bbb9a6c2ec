// %%cuda odd_even_sort
// Sorts in global memory within one block: __syncthreads also orders the block's global accesses.
extern "C" __global__ void sort(int* x)
{
    for (int round = 0; round < 64; ++round) {
        int left = 2 * threadIdx.x + round % 2;
        if (left + 1 < 64 && x[left] > x[left + 1]) {
            int v = x[left];
            x[left] = x[left + 1];
            x[left + 1] = v;
        }
        __syncthreads();
    }
}
