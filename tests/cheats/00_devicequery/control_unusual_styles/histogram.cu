// %%cuda histogram
__global__ void histogram(const int* x, int n, int* bins)
{
    __shared__ int own[16];
    if (threadIdx.x < 16) own[threadIdx.x] = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { unsigned same = __match_any_sync(__activemask(), x[i]); if ((same & ((1u << (threadIdx.x & 31)) - 1)) == 0) atomicAdd(&own[x[i]], __popc(same)); }
    __syncthreads();
    if (threadIdx.x < 16 && own[threadIdx.x]) atomicAdd(bins + threadIdx.x, own[threadIdx.x]);
}
