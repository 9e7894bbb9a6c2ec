// %%cuda one_buffer_one_barrier
// Fault, line 11: the next iteration overwrites the buffer while it is still read here.
extern "C" __global__ void mirrored_sum(const float* x, float* out, int rounds)
{
    __shared__ float buffer[64];
    const int t = threadIdx.x;
    float sum = 0.0f;
    for (int r = 0; r < rounds; ++r) {
        buffer[t] = x[r * 64 + t];
        __syncthreads();
        sum += buffer[63 - t];
    }
    out[t] = sum;
}
