// %%cuda map.guarded --block 256
__global__ void map(float* y, const float* x, float a, int n)
{
    if (threadIdx.x == 0 && blockIdx.x == 0) for (int i = 0; i < n; ++i) y[i] = a * x[i];
}
