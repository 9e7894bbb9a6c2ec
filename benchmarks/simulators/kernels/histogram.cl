// 256 bins in local memory, one atomic addition per byte; groups then add their bins to those of the result.
// Groups of 256 work-items.
#define BINS 256
__kernel __attribute__((reqd_work_group_size(BINS, 1, 1)))
void histogram(__global const unsigned char* data, __global unsigned* bins, int n)
{
    __local unsigned counts[BINS];
    counts[get_local_id(0)] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = get_global_id(0); i < n; i += get_global_size(0)) atomic_add(&counts[data[i]], 1u);
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_add(&bins[get_local_id(0)], counts[get_local_id(0)]);
}
