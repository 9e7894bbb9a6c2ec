// One warp reads shared memory: lane l reads element at[32 * k + l] of pattern k, 64 to the power k times.
// A negative index is an inactive lane. `zero` is 0 and keeps the load inside its loop.
typedef TYPE element;
__device__ unsigned fold(unsigned v) { return v; }
__device__ unsigned fold(uint2 v) { return v.x ^ v.y; }
__device__ unsigned fold(uint4 v) { return v.x ^ v.y ^ v.z ^ v.w; }

extern "C" __global__ void shared_load(const int* at, int patterns, int zero, unsigned* out)
{
    __shared__ element memory[2048];
    const int lane = threadIdx.x;
    unsigned sum = 0;
    int rounds = 1;
    for (int k = 0; k < patterns; ++k) {
        const int i = at[32 * k + lane];
#pragma unroll 1
        for (int r = 0; r < rounds; ++r)
            if (i >= 0) sum += fold(memory[i + r * zero]);
        rounds *= 64;
    }
    if (zero) out[lane] = sum;
}
