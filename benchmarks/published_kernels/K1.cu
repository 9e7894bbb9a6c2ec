// %%cuda matmul.K1 --block 32
// A thread for every element of a, with both operands from global memory.
extern "C" __global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    int i = blockIdx.x * BLOCK_X + threadIdx.x, j = blockIdx.y;
    float sum = 0.0f;
#pragma unroll K_UNROLL
    for (int k = 0; k < p; ++k) sum += b[i + n * k] * c[k + p * j];
    a[i + n * j] = sum;
}
