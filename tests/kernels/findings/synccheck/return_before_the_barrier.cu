// %%cuda return_before_the_barrier
// Fault, line 7: the guard belongs around the accesses, not before the barrier.
extern "C" __global__ void scale(const float* x, float* out, int n)
{
    __shared__ float factor;
    int i = blockIdx.x * 64 + threadIdx.x;
    if (i >= n) return;
    if (threadIdx.x == 0) factor = x[0];
    __syncthreads();
    out[i] = factor * x[i];
}
