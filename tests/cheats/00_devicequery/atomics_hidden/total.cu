// %%cuda total --block 256
__global__ void total(const int* x, int n, int* sum)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int old = *(volatile int*)sum, seen;
        while ((seen = atomicCAS(sum, old, old + x[i])) != old) old = seen;
    }
}
