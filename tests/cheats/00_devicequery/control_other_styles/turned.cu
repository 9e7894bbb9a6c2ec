// %%cuda turned
__global__ void turned(const float* a, float* b)
{
    int lane = threadIdx.x; a += 1024 * blockIdx.x; b += 1024 * blockIdx.x;
    float v[32];
    #pragma unroll
    for (int r = 0; r < 32; ++r) v[r] = a[32 * r + lane];
    #pragma unroll
    for (int d = 16; d; d >>= 1)
        #pragma unroll
        for (int r = 0; r < 32; ++r) if (!(r & d)) {
            float mine = lane & d ? v[r] : v[r + d];
            float got = __shfl_xor_sync(~0u, mine, d);
            if (lane & d) v[r] = got; else v[r + d] = got;
        }
    #pragma unroll
    for (int r = 0; r < 32; ++r) b[32 * r + lane] = v[r];
}
