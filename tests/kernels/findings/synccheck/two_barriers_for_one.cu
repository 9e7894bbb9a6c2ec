// %%cuda two_barriers_for_one
// Fault, line 9: producer and consumer wait for each other in different lines.
extern "C" __global__ void hand_over(const int* x, int* out)
{
    __shared__ int s[32];
    int t = threadIdx.x;
    if (t < 32) {
        s[t] = 3 * x[t];
        __syncthreads();
        s[t] = 0;
    } else {
        __syncthreads();
        out[t - 32] = x[t - 32];
    }
}
