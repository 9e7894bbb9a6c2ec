// %%cuda two_threads_in_one_byte
// Fault, line 9: a byte is the smallest unit of a store, so half a byte cannot be stored.
extern "C" __global__ void pack(const unsigned char* x, unsigned char* out)
{
    __shared__ unsigned char packed[32];
    int t = threadIdx.x;
    if (t < 32) packed[t] = 0;
    __syncthreads();
    packed[t / 2] |= x[t] << 4 * (t % 2);
    __syncthreads();
    if (t < 32) out[t] = packed[t];
}
