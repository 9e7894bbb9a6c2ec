// %%cuda matmul.K1 --block 64
// K1: two pointers walk along k, one by a column of b, one by one float of c.
extern "C" __global__ void mmkernel(float* __restrict__ a, const float* __restrict__ b, const float* __restrict__ c,
                                    int n, int m, int p)
{
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y;
    if (i >= n) return;
    const float* column = c + j * p;
    const float* const end = column + p;
    float sum = 0.0f;
#pragma unroll 4
    for (const float* row = b + i; column < end; row += n) sum += *row * *column++;
    a[i + j * n] = sum;
}
