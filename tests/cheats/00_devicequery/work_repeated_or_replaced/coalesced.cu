// %%cuda coalesced
__global__ void coalesced(const float* x, float* y, int n)
{
    int each = n / (gridDim.x * blockDim.x), first = each * (blockIdx.x * blockDim.x + threadIdx.x);
    for (int k = 0; k < each; ++k) atomicExch(y + first + k, 2 * atomicAdd((float*)x + first + k, 0.0f));
}
