// %%cuda map.whole --block 256
__global__ void map(float* y, const float* x, float a, int n)
{
    if (threadIdx.x == 0) for (int i = blockIdx.x * 256; i < blockIdx.x * 256 + 256; ++i) y[i] = a * x[i];
}
