// %%cuda reduce_last_block
// One launch for the whole sum: the last block to arrive, counted by an atomic, adds the others' sums.
__device__ unsigned arrived = 0;

extern "C" __global__ void reduce(const float* x, float* partial, float* total, int n)
{
    __shared__ float s[64];
    __shared__ bool last;
    int t = threadIdx.x;
    float sum = 0.0f;
    for (int i = blockIdx.x * 64 + t; i < n; i += gridDim.x * 64) sum += x[i];
    s[t] = sum;
    __syncthreads();
    for (int h = 32; h; h /= 2) {
        if (t < h) s[t] += s[t + h];
        __syncthreads();
    }
    if (t == 0) {
        partial[blockIdx.x] = s[0];
        __threadfence();
        last = atomicInc(&arrived, gridDim.x - 1) == gridDim.x - 1;   // wraps to 0 for the next launch
    }
    __syncthreads();
    if (last && t == 0) {
        float all = 0.0f;
        for (int b = 0; b < gridDim.x; ++b) all += ((volatile float*)partial)[b];
        *total = all;
    }
}
