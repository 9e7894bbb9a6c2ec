// %%cuda whole_block_leaves
// An early exit is harmless where no thread of the same block stays behind.
extern "C" __global__ void mirror(const float* x, float* out, int n)
{
    __shared__ float s[64];
    if (blockIdx.x * blockDim.x >= n) return;
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    s[t] = x[i];
    __syncthreads();
    out[i] = s[63 - t];
}
