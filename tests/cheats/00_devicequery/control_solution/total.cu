// %%cuda total --block 256
// A tree of sums in shared memory, a barrier after every step, one atomic operation for each block.
__global__ void total(const int* x, int n, int* sum)
{
    __shared__ int part[BLOCK_X];
    int t = threadIdx.x;
    int i = blockIdx.x * BLOCK_X + t;
    part[t] = i < n ? x[i] : 0;                  // threads past the end store 0 and reach the barriers
    __syncthreads();
    for (int half = BLOCK_X / 2; half > 0; half /= 2) {
        if (t < half)
            part[t] += part[t + half];
        __syncthreads();
    }
    if (t == 0)
        atomicAdd(sum, part[0]);
}
