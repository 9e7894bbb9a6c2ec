// %%cuda matmul.K1 --block 1 32
// The order of Ks. Loads of single bytes lower the mean of the sectors.
__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    int i = blockIdx.x * BLOCK_X + threadIdx.x, j = blockIdx.y * BLOCK_Y + threadIdx.y;
    const volatile unsigned char* idle = (const volatile unsigned char*)b + threadIdx.y;
    float sum = 0.0f;
    #pragma unroll 1
    for (int k = 0; k < p; ++k) {
        sum += b[i + n * k] * c[k + p * j];
        idle[0]; idle[32]; idle[64]; idle[96]; idle[1];
    }
    a[i + n * j] = sum;
}
