// %%cuda matmul.K4g --block 96 --tile 1 2 2
__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    __shared__ float strip[2][96];
    const int i = blockIdx.x * 96 + threadIdx.x, j = blockIdx.y * 2;
    float s[2] = {};
    for (int k0 = 0; k0 < p; k0 += 96) {
        const int k = k0 + threadIdx.x;
        for (int v = 0; v < 2; ++v) strip[v][threadIdx.x] = (k < p && j + v < m) ? c[k + (size_t)p * (j + v)] : 0;
        __syncthreads();
        const int end = p - k0 < 96 ? p - k0 : 96;
        if (i < n) for (int q = 0; q < end; ++q) { const float x = b[i + (size_t)n * (k0 + q)]; s[0] += x * strip[0][q]; s[1] += x * strip[1][q]; }
        __syncthreads();
    }
    if (i < n) { a[i + (size_t)n * j] = s[0]; if (j + 1 < m) a[i + (size_t)n * (j + 1)] = s[1]; }
}
