// %%cuda matmul.K2 --block 64 --tile 1 1 1
// Changes from K1: a block loads a strip of its column of c once, into shared memory.
__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    __shared__ float strip[BLOCK_X];
    int tx = threadIdx.x;
    // 1. The i and j of this thread, as in K1, and a sum of 0.
    int i = blockIdx.x * BLOCK_X + tx, j = blockIdx.y;
    float sum = 0.0f;
    for (int ks = 0; ks < p; ks += BLOCK_X) {
        // 2. Load one value of column j of c into the strip: neighbours load neighbours.
        strip[tx] = c[ks + tx + p * j];
        // 3. What must have happened before a thread reads the strip?
        __syncthreads();                         // the strip is complete
        #pragma unroll 1
        for (int k = 0; k < BLOCK_X; ++k) {
            // 4. One multiply-add: b from global memory, c from the strip.
            sum += b[i + n * (ks + k)] * strip[k];
        }
        // 5. What must have happened before the next round overwrites the strip?
        __syncthreads();                         // all have read the strip
    }
    // 6. Store the sum.
    a[i + n * j] = sum;
}
