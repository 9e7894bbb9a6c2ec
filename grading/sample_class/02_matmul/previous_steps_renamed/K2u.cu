// %%cuda matmul.K2u --block 64 --tile 1 1 1
// K2 with a rolled loop, under the name of the unrolled one.
extern "C" __global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    __shared__ float strip[BLOCK_X];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK_X + t, j = blockIdx.y;
    float sum = 0.0f;
    for (int ks = 0; ks < p; ks += BLOCK_X) {
        strip[t] = c[ks + t + p * j];
        __syncthreads();
        #pragma unroll 1
        for (int k = 0; k < BLOCK_X; ++k)
            sum += b[i + n * (ks + k)] * strip[k];
        __syncthreads();
    }
    a[i + n * j] = sum;
}
