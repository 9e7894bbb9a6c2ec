// %%cuda reduce_sequential
// Block sums, second style: the lower half adds the upper half, with the size of the shared array given at launch.
extern "C" __global__ void reduce(const int* x, int* sums, int n)
{
    extern __shared__ int part[];
    int t = threadIdx.x, sum = 0;
    for (int i = blockIdx.x * (2 * blockDim.x) + t; i < n; i += gridDim.x * (2 * blockDim.x)) {
        sum += x[i];
        if (i + blockDim.x < n) sum += x[i + blockDim.x];
    }
    part[t] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half >>= 1) {
        if (t < half) part[t] += part[t + half];
        __syncthreads();
    }
    if (!t) sums[blockIdx.x] = part[0];
}
