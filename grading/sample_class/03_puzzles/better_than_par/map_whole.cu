// %%cuda map.whole --tile 4
// Each thread multiplies one element by a.
__global__ void map(float* y, const float* x, float a, int n)
{
    int i = blockIdx.x * BLOCK_X + threadIdx.x;      // the element of this thread
    float4 v = ((const float4*) x)[i];
    ((float4*) y)[i] = make_float4(a * v.x, a * v.y, a * v.z, a * v.w);
}
