// %%cuda matmul.Ks --block 1 32
// The slow order: the threads of a warp run along j, so that each of them reads another column of c.
extern "C" __global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    int i = blockIdx.x, j = blockIdx.y * BLOCK_Y + threadIdx.y;
    float sum = 0.0f;
#pragma unroll K_UNROLL
    for (int k = 0; k < p; ++k) sum += b[i + n * k] * c[k + p * j];
    a[i + n * j] = sum;
}
