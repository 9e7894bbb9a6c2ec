// %%cuda total --block 256
// Each thread adds its own element.
__global__ void total(const int* x, int n, int* sum)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) atomicAdd(sum, x[i]);
}
