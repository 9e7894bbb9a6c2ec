// %%cuda n_queens
// Counts the ways to put n queens on a board: a thread for each first two rows, the rest by recursion on bit masks.
__device__ int ways(unsigned all, unsigned columns, unsigned left, unsigned right)
{
    if (columns == all) return 1;
    int found = 0;
    for (unsigned free = all & ~(columns | left | right); free; free &= free - 1) {
        const unsigned queen = free & -free;
        found += ways(all, columns | queen, (left | queen) << 1, (right | queen) >> 1);
    }
    return found;
}

extern "C" __global__ void count(int* total, int n)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n * n) return;
    const unsigned all = (1u << n) - 1, first = 1u << t % n, second = 1u << t / n;
    if (second & (first | first << 1 | first >> 1)) return;
    const int found = ways(all, first | second, (first << 1 | second) << 1, (first >> 1 | second) >> 1);
    if (found) atomicAdd(total, found);
}
