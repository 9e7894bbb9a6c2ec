// %%cuda double_buffer_one_barrier
// Each iteration fills one buffer and reads it after the barrier; the next one fills the other buffer.
extern "C" __global__ void mirrored_sum(const float* x, float* out, int rounds)
{
    __shared__ float buffer[2][64];
    const int t = threadIdx.x;
    float sum = 0.0f;
    for (int r = 0; r < rounds; ++r) {
        buffer[r & 1][t] = x[(blockIdx.x * rounds + r) * 64 + t];
        __syncthreads();
        sum += buffer[r & 1][63 - t];
    }
    out[blockIdx.x * 64 + t] = sum;
}
