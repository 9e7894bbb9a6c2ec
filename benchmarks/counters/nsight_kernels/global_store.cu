// One warp writes global memory: lane l writes element at[32 * k + l] of pattern k, 64 to the power k times.
// A negative index is an inactive lane. `zero` is 0 and keeps the store inside its loop.
typedef TYPE element;
__device__ void put(unsigned char* to, unsigned v) { *to = v; }
__device__ void put(unsigned short* to, unsigned v) { *to = v; }
__device__ void put(unsigned* to, unsigned v) { *to = v; }
__device__ void put(uint2* to, unsigned v) { *to = make_uint2(v, v + 1); }
__device__ void put(uint4* to, unsigned v) { *to = make_uint4(v, v + 1, v + 2, v + 3); }

extern "C" __global__ void global_store(element* data, const int* at, int patterns, int zero)
{
    const int lane = threadIdx.x;
    int rounds = 1;
    for (int k = 0; k < patterns; ++k) {
        const int i = at[32 * k + lane];
#pragma unroll 1
        for (int r = 0; r < rounds; ++r)
            if (i >= 0) put(&data[i + r * zero], r);
        rounds *= 64;
    }
}
