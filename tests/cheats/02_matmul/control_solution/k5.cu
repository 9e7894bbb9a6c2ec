// %%cuda matmul.K5 --block 16 16
// Changes from K1: a block loads a tile of b and a tile of c, and reads each value 16 times from there.
__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    const int SIDE = BLOCK_X;                    // the tiles are square: BLOCK_X == BLOCK_Y
    __shared__ float bt[SIDE][SIDE];             // bt[k][i]: as b lies in memory, i is the next element
    __shared__ float ct[SIDE][SIDE];             // ct[j][k]: as c lies in memory, k is the next element
    int tx = threadIdx.x, ty = threadIdx.y;
    float sum = 0.0f;
    // 1. The i and j of this thread.
    int i = blockIdx.x * SIDE + tx;
    int j = blockIdx.y * SIDE + ty;
    for (int ks = 0; ks < p; ks += SIDE) {
        // 2. Load one value of each tile. Then a barrier.
        bt[ty][tx] = b[i + n * (ks + ty)];       // ty is the index along k
        ct[ty][tx] = c[ks + tx + p * j];         // tx is the index along k
        __syncthreads();                         // both tiles are complete
        #pragma unroll
        for (int k = 0; k < SIDE; ++k) {
            // 3. One multiply-add from the two tiles.
            sum += bt[k][tx] * ct[ty][k];
        }
        // 4. Before the tiles are overwritten.
        __syncthreads();                         // all have read both tiles
    }
    // 5. Store the sum.
    a[i + n * j] = sum;                          // neighbours in tx are neighbours in memory
}
