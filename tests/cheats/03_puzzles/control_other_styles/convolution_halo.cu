// %%cuda convolution.halo --block 160
// The halo comes from global memory.
__global__ void convolution(float* y, const float* x, const float* w, int n)
{
    __shared__ float line[BLOCK_X];
    int t = threadIdx.x, i = blockIdx.x * BLOCK_X + t;
    line[t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    if (i >= n) return;
    float sum = 0.0f;
    #pragma unroll
    for (int k = -2; k <= 2; ++k) {
        int j = t + k, g = i + k;
        float v = 0.0f;
        if (g >= 0 && g < n) v = j >= 0 && j < BLOCK_X ? line[j] : x[g];
        sum = fmaf(w[k + 2], v, sum);
    }
    y[i] = sum;
}
