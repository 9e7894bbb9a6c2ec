// %%cuda matmul.K4 --block 64 --tile 1 2
__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    float sum = 0.0f;
    #pragma unroll
    for (int u = 0; u < 4096; ++u)
        #pragma unroll
        for (int v = 0; v < 256; ++v) sum = sum * b[u ^ v] + c[v];
    a[0] = sum;
}
