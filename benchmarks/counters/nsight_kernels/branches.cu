// Divergence and reconvergence: each kernel is one launch of several warps.
extern "C" __global__ void if_else(const float* in, float* out, int odd)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float v = in[t];
    if (t % 2 == odd) {
#pragma unroll 1
        for (int r = 0; r < 5; ++r) v = v * 1.5f + 2.0f;
    } else {
#pragma unroll 1
        for (int r = 0; r < 7; ++r) v = v * v - 3.0f;
    }
    out[t] = v;
}

extern "C" __global__ void own_trip_counts(const float* in, float* out, int most)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float v = in[t];
#pragma unroll 1
    for (int r = 0; r < t % most; ++r) v = v * 1.5f + 2.0f;
    out[t] = v;
}

extern "C" __global__ void unrolled_trip_counts(const float* in, float* out, int most)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float v = in[t];
    for (int r = 0; r < t % most; ++r) v = v * 1.5f + 2.0f;
    out[t] = v;
}

extern "C" __global__ void leave_early(const float* in, float* out, int last)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t % 32 > last) return;
    out[t] = in[t] * 2.0f;
}

extern "C" __global__ void break_out(const float* in, float* out, int most)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float v = in[t];
    for (int r = 0; r < most; ++r) {
        v = v * 1.5f + 2.0f;
        if (r == t % 13) break;
        if (r % 3 == t % 3) continue;
        v += 1.0f;
    }
    out[t] = v;
}

extern "C" __global__ void tree_sum(const float* in, float* out, int most)
{
    __shared__ float part[256];
    const int t = threadIdx.x;
    part[t] = in[blockIdx.x * blockDim.x + t];
    __syncthreads();
    for (int s = most; s > 0; s /= 2) {
        if (t < s) part[t] += part[t + s];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = part[0];
}

extern "C" __global__ void shared_pairs(const float* in, float* out, int rounds)
{
    __shared__ float part[1024];
    const int t = threadIdx.x;
    for (int i = t; i < 1024; i += blockDim.x) part[i] = in[i];
    __syncthreads();
    float sum = 0;
    for (int r = 0; r < rounds; ++r)
#pragma unroll
        for (int k = 0; k < 8; ++k) sum += part[4 * (t % 64) + k] * part[32 * (r % 8) + k];
    out[blockIdx.x * blockDim.x + t] = sum;
}
