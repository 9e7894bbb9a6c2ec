// %%cuda binning.private --block 128 --tile 4
__global__ void binning(int* counts, const int* x, int n, int bins)
{
    extern __shared__ int unused[];
    __shared__ unsigned own[2][64];
    for (int b = threadIdx.x; b < 128; b += blockDim.x) own[b / 64][b % 64] = 0u;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        atomicAdd(&own[threadIdx.x & 1][x[i]], 1u);
    __syncthreads();
    for (int b = threadIdx.x; b < bins; b += blockDim.x)
        if (unsigned c = own[0][b] + own[1][b]) atomicAdd(counts + b, (int)c);
}
