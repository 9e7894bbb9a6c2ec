// %%cuda shuffle_of_valid_lanes
// Only lanes with an element take part, and the mask contains exactly these lanes.
extern "C" __global__ void maximum(const int* x, int* largest, int n)
{
    int i = blockIdx.x * 32 + threadIdx.x;
    unsigned valid = __ballot_sync(0xffffffffu, i < n);
    if (i < n) {
        int v = x[i];
        for (int d = 16; d > 0; d /= 2) {
            int other = __shfl_down_sync(valid, v, d);
            if (threadIdx.x + d < __popc(valid)) v = max(v, other);
        }
        if (threadIdx.x == 0) largest[blockIdx.x] = v;
    }
}
