// %%cuda vector.ragged --tile 4
// Four elements with one load; the last elements one by one.
__global__ void vector(float* y, const float* x, float a, int n)
{
    int i = 4 * (blockIdx.x * BLOCK_X + threadIdx.x);
    if (i + 3 < n) {
        float4 v = *(const float4*) (x + i);
        *(float4*) (y + i) = make_float4(a * v.x, a * v.y, a * v.z, a * v.w);
    } else {
        for (; i < n; ++i)
            y[i] = a * x[i];
    }
}
