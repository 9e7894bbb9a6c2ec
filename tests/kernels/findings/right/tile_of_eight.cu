// %%cuda tile_of_eight
// Each group of eight lanes reverses its values; lanes outside the group do not wait.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void turn_round(const int* x, int* out)
{
    __shared__ int s[64];
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    int t = threadIdx.x, i = blockIdx.x * 64 + t, first = t - tile.thread_rank();
    s[t] = x[i];
    tile.sync();
    out[i] = s[first + 7 - tile.thread_rank()];
}
