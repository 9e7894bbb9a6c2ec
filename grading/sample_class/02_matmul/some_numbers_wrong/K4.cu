// %%cuda matmul.K4 --block 64 --tile 1 2
// A name is misspelled.
__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    int i = blockIdx.x * BLOCK_X + threadIdx.x;
    if (i < n) a[i] = bb[i];
}
