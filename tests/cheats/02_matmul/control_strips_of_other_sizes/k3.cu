// %%cuda matmul.K3 --block 32 --tile 4 1 1
__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    __shared__ float4 strip[8];
    int t = threadIdx.x, i = blockIdx.x * BLOCK_X * TILE_X + t, j = blockIdx.y;
    float sum[TILE_X] = {};
    for (int ks = 0; ks < p; ks += 32) {
        ((float*)strip)[t] = c[ks + t + p * j];
        __syncwarp();
        #pragma unroll
        for (int q = 0; q < 8; ++q) {
            float4 v = strip[q];
            #pragma unroll
            for (int u = 0; u < TILE_X; ++u) {
                const float* col = b + i + u * BLOCK_X + (size_t)n * (ks + 4 * q);
                sum[u] += col[0] * v.x + col[n] * v.y + col[2 * n] * v.z + col[3 * n] * v.w;
            }
        }
        __syncwarp();
    }
    #pragma unroll
    for (int u = 0; u < TILE_X; ++u) a[i + u * BLOCK_X + n * j] = sum[u];
}
