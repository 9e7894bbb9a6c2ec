// %%cuda wave.one --block 1024 --tile 4
__global__ void wave(float* y, const float* x, float a, int n)
{
    unsigned i = blockIdx.x * 1024u + threadIdx.x;
    do { if (i < (unsigned)n) y[i] = x[i] * a; i += gridDim.x * 1024u; } while (i < (unsigned)n);
}
