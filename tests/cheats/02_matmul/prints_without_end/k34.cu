// %%cuda matmul.K34 --block 64 --tile 2 2
__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    for (int k = 0; k < 100000; ++k) printf("%d %d %f and much more text in each line to fill the memory\n", k, threadIdx.x, b[0]);
}
