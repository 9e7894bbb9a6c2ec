// %%cuda matmul.K2 --block 32
__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    const int t = threadIdx.x, i = blockIdx.x * 32 + t, j = blockIdx.y;
    float sum = 0.0f;
    for (int k0 = 0; k0 < p; k0 += 32) {
        a[i + n * j] = c[k0 + t + p * j];
        __syncthreads();
        for (int k = 0; k < 32; ++k) sum += b[i + n * (k0 + k)] * ((volatile float*)a)[blockIdx.x * 32 + k + n * j];
        __syncthreads();
    }
    a[i + n * j] = sum;
}
