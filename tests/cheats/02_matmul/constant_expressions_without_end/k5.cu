// %%cuda matmul.K5 --block 16 16
__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    constexpr int N = []() { int s = 0; for (int i = 0; i < 2000000000; ++i) s ^= i; return s; }();
    a[0] = N;
}
