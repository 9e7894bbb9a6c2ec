// %%cuda histogram --block 128
__global__ void histogram(const int* x, int n, int* bins)
{
    __shared__ signed char own[4096];
    if (blockIdx.x) return;
    for (int i = threadIdx.x; i < n; i += 128) own[i] = x[i];
    __syncthreads();
    if (threadIdx.x >= 16) return;
    int count = 0;
    for (int i = 0; i < n; ++i) count += own[i] == threadIdx.x;
    bins[threadIdx.x] += count;
}
