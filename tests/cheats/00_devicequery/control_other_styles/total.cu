// %%cuda total --block 256
__global__ void total(const int* x, int n, int* sum)
{
    __shared__ int part[256];
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    part[t] = i < n ? x[i] : 0;
    for (int s = 1; s < 256; s *= 2) {
        __syncthreads();
        if (t % (2 * s) == 0) part[t] += part[t + s];
    }
    if (t == 0) atomicAdd(sum, part[0]);
}
