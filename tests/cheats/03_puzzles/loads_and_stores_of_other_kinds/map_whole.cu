// %%cuda map.whole
__global__ void map(float* y, const float* x, float a, int n)
{
    int i = blockIdx.x * BLOCK_X + threadIdx.x;
    atomicExch(y + i, x[i] * a);
}
