// %%cuda scan.inclusive --block 256
__global__ void scan(int* y, const int* x, int n)
{
    __shared__ int s[256]; s[threadIdx.x] = x[blockIdx.x * 256 + threadIdx.x]; __syncthreads();
    int t = 0; for (int k = 0; k <= threadIdx.x; ++k) t += s[k]; y[blockIdx.x * 256 + threadIdx.x] = t;
}
