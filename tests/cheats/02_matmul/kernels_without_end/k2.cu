// %%cuda matmul.K2 --block 64
__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    while (true) { if (((volatile float*)a)[0] == 3.0f) break; __nanosleep(1000000000); }
}
