// %%cuda matmul.K1 --block 128
__global__ void mmkernel(float* __restrict__ a, const float* __restrict__ b, const float* __restrict__ c, int n, int m, int p)
{
    const int i = blockIdx.x * BLOCK_X + threadIdx.x, j = blockIdx.y;
    const float *pb = b + i, *pc = c + (size_t)p * j, *end = pc + p;
    float s0 = 0, s1 = 0;
    do { s0 = __fmaf_rn(*pb, *pc++, s0); pb += n; s1 = __fmaf_rn(*pb, *pc++, s1); pb += n; } while (pc != end);
    a[i + n * j] = s0 + s1;
}
