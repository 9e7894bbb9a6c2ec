// %%cuda strides_that_end_earlier
// Fault, line 9: 160 elements are one and two thirds iterations for 96 threads.
extern "C" __global__ void through_shared(const float* x, float* out, int n)
{
    __shared__ float s[96];
    int t = threadIdx.x;
    for (int i = t; i < n; i += 96) {
        s[t] = x[i];
        __syncthreads();
        out[i] = 2.0f * s[t];
    }
}
