// %%cuda matmul.K5 --block 16 16
__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    extern __shared__ float s[];
    s[p * 1000] = 1.0f;
    a[0] = s[n];
}
