// %%cuda warpsum.shuffle --block 64
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
__global__ void warpsum(int* sums, const int* x, int n)
{
    int i = blockIdx.x * BLOCK_X + threadIdx.x;
    if (i >= n) return;
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    int s = cg::reduce(warp, x[i], cg::plus<int>());
    if (warp.thread_rank() == 0) sums[i / 32] = s;
}
