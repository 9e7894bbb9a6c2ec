// %%cuda bits_of_a_shared_word
// Fault, line 10: |= is a read and a write; other threads may write in between.
extern "C" __global__ void signs(const float* x, unsigned* out)
{
    __shared__ unsigned bits[2];
    int t = threadIdx.x;
    if (t < 2) bits[t] = 0;
    __syncthreads();
    if (x[t] < 0.0f)
        bits[t / 32] |= 1u << t % 32;
    __syncthreads();
    if (t < 2) out[t] = bits[t];
}
