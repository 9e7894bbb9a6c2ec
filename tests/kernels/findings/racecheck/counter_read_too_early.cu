// %%cuda counter_read_too_early
// Fault, line 12: other threads may not have incremented the counter yet.
extern "C" __global__ void share(const float* x, float* out)
{
    __shared__ int positive;
    int t = threadIdx.x;
    if (t == 0) positive = 1;
    __syncthreads();
    if (x[t] > 0.0f)
        atomicAdd(&positive, 1);
    out[t] = x[t] /
             positive;
}
