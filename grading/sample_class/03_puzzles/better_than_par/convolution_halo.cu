// %%cuda convolution.halo
// Each block loads its elements and two more on each side, once.
__global__ void convolution(float* y, const float* x, const float* w, int n)
{
    __shared__ float tile[BLOCK_X + 4];
    int t = threadIdx.x, first = blockIdx.x * BLOCK_X;
    for (int k = t; k < BLOCK_X + 4; k += BLOCK_X) {
        int j = first + k - 2;
        tile[k] = j >= 0 && j < n ? x[j] : 0.0f;
    }
    __syncthreads();
    float sum = 0.0f;
    for (int k = 0; k < 5; ++k)
        sum += w[k] * tile[t + k];
    if (first + t < n)
        y[first + t] = sum;
}
