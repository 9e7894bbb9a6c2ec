// %%cuda blocksum.reduced --block 256
__global__ void blocksum(int* sums, const int* x, int n)
{
    __shared__ int s[256]; s[threadIdx.x] = x[blockIdx.x * 256 + threadIdx.x]; __syncthreads();
    if (threadIdx.x == 0) { int t = 0; for (int k = 0; k < 256; ++k) t += s[k]; sums[blockIdx.x] = t; }
}
