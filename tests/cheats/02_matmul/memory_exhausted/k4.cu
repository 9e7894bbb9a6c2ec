// %%cuda matmul.K4 --block 64 --tile 1 2
__device__ __noinline__ float deep(const float* b, int n) { volatile float x[256]; x[n & 255] = b[n & 15]; return n < -1000000000 ? x[0] : deep(b, n - 1) + x[n & 255]; }
__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    a[0] = deep(b, p);
}
