// %%cuda cooperative_tiles
// Cooperative groups: sums of tiles of eight threads, of the block, and of those lanes that took a branch.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

template <class Group>
__device__ int sum_of(const Group& group, int value)
{
    for (int d = group.size() / 2; d > 0; d /= 2) value += group.shfl_down(value, d);
    return value;
}

extern "C" __global__ void sums(const int* x, int* of_tile, int* of_block, int* place_among_odd, int n)
{
    __shared__ int total;
    const cg::thread_block block = cg::this_thread_block();
    const auto tile = cg::tiled_partition<8>(block);
    const int i = block.group_index().x * block.size() + block.thread_rank();
    const int value = i < n ? x[i] : 0;

    if (block.thread_rank() == 0) total = 0;
    block.sync();
    const int sum = sum_of(tile, value);
    if (tile.thread_rank() == 0) {
        if (i < n) of_tile[i / 8] = sum;
        atomicAdd(&total, sum);
    }
    cg::sync(block);
    if (block.thread_rank() == 0) of_block[block.group_index().x] = total;

    if (value % 2 == 1) {
        const cg::coalesced_group odd = cg::coalesced_threads();
        place_among_odd[i] = 100 * odd.size() + odd.thread_rank();
    }
}
