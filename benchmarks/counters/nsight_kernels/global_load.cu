// One warp reads global memory: lane l reads element at[32 * k + l] of pattern k, 64 to the power k times.
// A negative index is an inactive lane. `zero` is 0 and keeps the load inside its loop.
// Each pattern also costs one aligned load of 32 ints: 1 request, 4 sectors.
typedef TYPE element;
__device__ unsigned fold(unsigned v) { return v; }
__device__ unsigned fold(uint2 v) { return v.x ^ v.y; }
__device__ unsigned fold(uint4 v) { return v.x ^ v.y ^ v.z ^ v.w; }

extern "C" __global__ void global_load(const element* data, const int* at, int patterns, int zero, unsigned* out)
{
    const int lane = threadIdx.x;
    unsigned sum = 0;
    int rounds = 1;
    for (int k = 0; k < patterns; ++k) {
        const int i = at[32 * k + lane];
#pragma unroll 1
        for (int r = 0; r < rounds; ++r)
            if (i >= 0) sum += fold(READ(&data[i + r * zero]));
        rounds *= 64;
    }
    if (zero) out[lane] = sum;
}
