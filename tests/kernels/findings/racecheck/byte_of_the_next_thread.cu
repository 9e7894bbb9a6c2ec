// %%cuda byte_of_the_next_thread
// Fault, line 13: the fifth byte is the first byte of the next thread.
extern "C" __global__ void five_bytes(const unsigned char* x, unsigned char* out)
{
    __shared__ unsigned char s[260];
    int t = threadIdx.x;
    if (t < 4) s[256 + t] = 0;
    __syncthreads();
    for (int k = 0; k < 4; ++k)
        s[4 * t + k] = x[4 * t + k];
    int sum = 0;
    for (int k = 0; k < 5; ++k)
        sum += s[4 * t + k];
    out[t] = sum;
}
