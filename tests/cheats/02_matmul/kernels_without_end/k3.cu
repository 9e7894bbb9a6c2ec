// %%cuda matmul.K3 --block 64 --tile 2
__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    if (threadIdx.x < 5) __syncthreads();
    while (threadIdx.x == 7) __syncwarp();
}
