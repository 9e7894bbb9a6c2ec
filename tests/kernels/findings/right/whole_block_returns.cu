// %%cuda whole_block_returns
// An early exit is allowed if no thread of the block reaches the barrier.
extern "C" __global__ void mirror(const float* x, float* out, int n)
{
    __shared__ float s[64];
    if (blockIdx.x * blockDim.x >= n) return;
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    s[t] = x[i];
    __syncthreads();
    out[i] = s[63 - t];
}
