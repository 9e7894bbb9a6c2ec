// %%cuda total --block 256
__global__ void total(const int* x, int n, int* sum)
{
    int i = blockIdx.x * 256 + threadIdx.x; __shared__ int s;
    if (!threadIdx.x) s = 0; __syncthreads();
    if (i < n) atomicAdd(&s, x[i]);
    __syncthreads();
    if (!threadIdx.x) atomicAdd(sum, s);
}
