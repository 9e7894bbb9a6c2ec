// %%cuda barrier_for_one_warp
// Fault, line 9: the second warp never reaches this line.
extern "C" __global__ void first_warp(const int* x, int* out)
{
    __shared__ int s[32];
    int t = threadIdx.x;
    if (t < 32) {
        s[t] = x[t];
        __syncthreads();
        out[t] = s[31 - t];
    } else {
        out[t] = x[t];
    }
}
