// %%cuda matmul.K4g --block 128 --tile 1 16 4
// A block computes tiles of 128 x 4 values that are gridDim.y apart.
__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    const int COLUMNS = 4;
    __shared__ float strip[COLUMNS][BLOCK_X];
    int tx = threadIdx.x;
    int i = blockIdx.x * BLOCK_X + tx;

    for (int j = COLUMNS * blockIdx.y; j < m; j += COLUMNS * gridDim.y) {
        float sum[COLUMNS] = {};
        for (int ks = 0; ks < p; ks += BLOCK_X) {
            for (int v = 0; v < COLUMNS; ++v)
                strip[v][tx] = ks + tx < p && j + v < m ? c[ks + tx + p * (j + v)] : 0.0f;
            __syncthreads();
            if (i < n)
                for (int k = 0; k < min(BLOCK_X, p - ks); ++k) {
                    float value = b[i + n * (ks + k)];
                    for (int v = 0; v < COLUMNS; ++v)
                        sum[v] += value * strip[v][k];
                }
            __syncthreads();
        }
        for (int v = 0; v < COLUMNS; ++v)
            if (i < n && j + v < m)
                a[i + n * (j + v)] = sum[v];
    }
}
