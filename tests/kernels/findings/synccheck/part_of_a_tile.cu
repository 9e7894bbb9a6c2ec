// %%cuda part_of_a_tile
// Fault, line 15: the upper four lanes of each tile of eight do not reach this line.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void by_tile(const int* x, int* out)
{
    __shared__ int s[64];
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    int t = threadIdx.x, v = x[t];
    s[t] = v;
    tile.sync();
    if (tile.thread_rank() < 4) {
        v += s[t + 4];
        tile.sync();
        v *= 2;
    }
    out[t] = tile.shfl(v, 3);
}
