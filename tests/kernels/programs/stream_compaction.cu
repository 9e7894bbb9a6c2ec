// %%cuda stream_compaction
// Keeps the values over a threshold: a ballot gives each lane its place, one atomic a warp gives the warp its own.
extern "C" __global__ void compact(const float* x, float threshold, float* kept, int* count, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
    float v = i < n ? x[i] : 0.0f;
    bool keep = i < n && v > threshold;
    unsigned mask = __ballot_sync(0xffffffffu, keep);
    int first = 0;
    if (lane == 0 && mask) first = atomicAdd(count, __popc(mask));
    first = __shfl_sync(0xffffffffu, first, 0);
    if (keep) kept[first + __popc(mask & ((1u << lane) - 1u))] = v;
}
