// %%cuda partner_in_another_tile
// Fault, line 12: the partner eight lanes away is in another tile.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void add_partner(const int* x, int* out)
{
    __shared__ int s[32];
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    int t = threadIdx.x;
    s[t] = x[t];
    tile.sync();
    out[t] = s[t ^ 8];
}
