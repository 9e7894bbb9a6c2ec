// %%cuda matmul.K1 --block 32 4
// K1: a template device function sums in double; four columns a block.
template <typename Sum>
__device__ Sum dot(const float* x, int stride, const float* y, unsigned length)
{
    Sum s = 0;
    for (unsigned k = 0; k != length; ++k) s += (Sum)x[k * stride] * (Sum)y[k];
    return s;
}

__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    unsigned i = blockDim.x * blockIdx.x + threadIdx.x, j = blockDim.y * blockIdx.y + threadIdx.y;
    if (i < (unsigned)n && j < (unsigned)m) a[i + n * j] = (float)dot<double>(b + i, n, c + p * j, p);
}
