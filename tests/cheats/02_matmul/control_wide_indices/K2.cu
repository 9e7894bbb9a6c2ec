// %%cuda matmul.K2 --block 64 2
// A block has two columns, and each row of its threads a strip of its own.
extern "C" __global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    __shared__ float strip[BLOCK_Y][BLOCK_X];
    const int i = blockIdx.x * BLOCK_X + threadIdx.x, j = blockIdx.y * BLOCK_Y + threadIdx.y;
    float sum = 0.f;
    for (int first = 0; first < p; first += BLOCK_X) {
        strip[threadIdx.y][threadIdx.x] = c[(long)p * j + first + threadIdx.x];
        __syncthreads();
        for (const float* s = strip[threadIdx.y], *q = b + i + (size_t)n * first; s != strip[threadIdx.y] + BLOCK_X; ++s, q += n)
            sum += *s * *q;
        __syncthreads();
    }
    a[i + (size_t)n * j] = sum;
}
