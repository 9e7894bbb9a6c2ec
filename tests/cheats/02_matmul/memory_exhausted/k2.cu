// %%cuda matmul.K2 --block 64
__device__ float big[1ull << 36];
__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    big[threadIdx.x] = b[0];
    a[0] = big[p];
}
