// %%cuda total --block 256
// The barrier after each step of the tree is missing.
__global__ void total(const int* x, int n, int* sum)
{
    __shared__ int part[256];
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    part[t] = i < n ? x[i] : 0;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2)
        if (t < half) part[t] += part[t + half];
    __syncthreads();
    if (t == 0) atomicAdd(sum, part[0]);
}
