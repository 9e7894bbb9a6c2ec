// One warp adds to memory: lane l to element at[32 * k + l] of pattern k, 64 to the power k times.
// A negative index is an inactive lane. USE uses the old value, or discards it: (void).
extern "C" __global__ void global_atomic(TYPE* data, const int* at, int patterns, int zero, unsigned* out)
{
    const int lane = threadIdx.x;
    unsigned sum = 0;
    int rounds = 1;
    for (int k = 0; k < patterns; ++k) {
        const int i = at[32 * k + lane];
#pragma unroll 1
        for (int r = 0; r < rounds; ++r)
            if (i >= 0) USE atomicAdd(&data[i + r * zero], (TYPE)lane);
        rounds *= 64;
    }
    if (zero) out[lane] = sum;
}

extern "C" __global__ void shared_atomic(const int* at, int patterns, int zero, unsigned* out)
{
    __shared__ TYPE memory[2048];
    const int lane = threadIdx.x;
    unsigned sum = 0;
    for (int i = lane; i < 2048; i += 32) memory[i] = 0;
    __syncwarp();
    int rounds = 1;
    for (int k = 0; k < patterns; ++k) {
        const int i = at[32 * k + lane];
#pragma unroll 1
        for (int r = 0; r < rounds; ++r)
            if (i >= 0) USE atomicAdd(&memory[i + r * zero], (TYPE)lane);
        rounds *= 64;
    }
    if (zero) out[lane] = sum + (unsigned)memory[lane];
}
