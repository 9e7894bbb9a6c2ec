// %%cuda matmul.K1 --block 64
// The interchanged loops: is_ and j are blocks, i is a thread, k stays a loop.
__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    // 1. Which i and which j belong to this thread?
    int i = blockIdx.x * BLOCK_X + threadIdx.x;
    int j = blockIdx.y * BLOCK_Y + threadIdx.y;
    // 2. The loop over k, and one store.
    float sum = 0.0f;
    for (int k = 0; k < p; ++k)
        sum += b[i + n * k] * c[k + p * j];
    a[i + n * j] = sum;
}
