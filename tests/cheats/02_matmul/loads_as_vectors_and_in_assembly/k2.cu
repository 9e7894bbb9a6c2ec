// %%cuda matmul.K2 --block 64
__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    int i = blockIdx.x * BLOCK_X + threadIdx.x, j = blockIdx.y;
    float sum = 0.0f;
    for (int k = 0; k < p; k += 4) {
        float4 v = *(const float4*)&c[k + p * j];
        sum += b[i + n * k] * v.x + b[i + n * (k + 1)] * v.y + b[i + n * (k + 2)] * v.z + b[i + n * (k + 3)] * v.w;
    }
    a[i + n * j] = sum;
}
