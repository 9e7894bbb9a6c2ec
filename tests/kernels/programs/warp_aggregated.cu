// %%cuda warp_aggregated
// Tickets by key: lanes with the same key find each other with a match, and one atomic serves them all.
extern "C" __global__ void tickets(const int* key, int* next, int* ticket, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    const unsigned active = __ballot_sync(0xffffffffu, i < n);
    if (i >= n) return;
    const unsigned same = __match_any_sync(active, key[i]);
    const int leader = __ffs(same) - 1;
    int first = 0;
    if (lane == leader) first = atomicAdd(&next[key[i]], __popc(same));
    first = __shfl_sync(same, first, leader);
    ticket[i] = first + __popc(same & ((1u << lane) - 1));
}
