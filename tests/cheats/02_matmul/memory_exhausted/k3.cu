// %%cuda matmul.K3 --block 64 --tile 2
__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    float local[1 << 24];
    for (int k = 0; k < p; ++k) local[k * 9973 & 0xffffff] = b[k];
    a[0] = local[n];
}
