// %%cuda matmul.K5 --block 16 16
__device__ int lock = 1;
__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    while (atomicCAS(&lock, 0, 1) != 0) { }
    a[0] = 1.0f;
}
