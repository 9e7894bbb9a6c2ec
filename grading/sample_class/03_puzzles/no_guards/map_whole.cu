// %%cuda map.whole
// Each thread multiplies one element by a.
__global__ void map(float* y, const float* x, float a, int n)
{
    int i = blockIdx.x * BLOCK_X + threadIdx.x;      // the element of this thread
    y[i] = a * x[i];
}
