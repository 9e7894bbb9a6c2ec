// %%cuda total --block 256
// The last five steps of the tree exchange registers within a warp.
__global__ void total(const int* x, int n, int* sum)
{
    __shared__ int part[256];
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    part[t] = i < n ? x[i] : 0;
    __syncthreads();
    for (int half = 128; half >= 32; half /= 2) {
        if (t < half) part[t] += part[t + half];
        __syncthreads();
    }
    if (t < 32) {
        int value = part[t];
        for (int half = 16; half > 0; half /= 2) value += __shfl_down_sync(0xffffffffu, value, half);
        if (t == 0) atomicAdd(sum, value);
    }
}
