// %%cuda matmul.K4 --block 128 --tile 1 4 4
// Changes from K2u: a thread computes TILE_Y values of a, neighbours in j; each load of b serves them all.
__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    __shared__ float strip[TILE_Y][BLOCK_X];     // one strip for each of the TILE_Y columns of c
    int tx = threadIdx.x;
    float sum[TILE_Y] = {};
    // 1. The row i of this thread, and the first of its columns, j.
    int i = blockIdx.x * BLOCK_X + tx;
    int j = blockIdx.y * TILE_Y;
    for (int ks = 0; ks < p; ks += BLOCK_X) {
        // 2. Load one value of each column, in an unrolled loop over v. Then a barrier.
        #pragma unroll
        for (int v = 0; v < TILE_Y; ++v)
            strip[v][tx] = c[ks + tx + p * (j + v)];
        __syncthreads();
        #pragma unroll TILE_Z
        for (int k = 0; k < BLOCK_X; ++k) {
            // 3. Load b once; then one multiply-add for each column.
            float value = b[i + n * (ks + k)];   // loaded once, used TILE_Y times
            #pragma unroll
            for (int v = 0; v < TILE_Y; ++v)
                sum[v] += value * strip[v][k];
        }
        // 4. Before the strips are overwritten.
        __syncthreads();                         // all have read all strips
    }
    // 5. Store TILE_Y values.
    #pragma unroll
    for (int v = 0; v < TILE_Y; ++v)
        a[i + n * (j + v)] = sum[v];
}
