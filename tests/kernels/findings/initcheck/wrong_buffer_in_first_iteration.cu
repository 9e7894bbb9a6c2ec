// %%cuda wrong_buffer_in_first_iteration
// Fault, line 11: this iteration has filled buffer[r & 1].
extern "C" __global__ void mirrored_sum(const float* x, float* out, int rounds)
{
    __shared__ float buffer[2][64];
    int t = threadIdx.x;
    float sum = 0.0f;
    for (int r = 0; r < rounds; ++r) {
        buffer[r & 1][t] = x[r * 64 + t];
        __syncthreads();
        sum += buffer[~r & 1][63 - t];
        __syncthreads();
    }
    out[t] = sum;
}
