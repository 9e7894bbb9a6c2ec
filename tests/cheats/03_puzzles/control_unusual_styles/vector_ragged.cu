// %%cuda vector.ragged --tile 4
__global__ void vector(float* y, const float* x, float a, int n)
{
    const int i = blockIdx.x * BLOCK_X + threadIdx.x, whole = n >> 2;
    if (i < whole) { float4 v = __ldg(reinterpret_cast<const float4*>(x) + i); v.x *= a; v.y *= a; v.z *= a; v.w *= a; reinterpret_cast<float4*>(y)[i] = v; }
    else if (i == whole) for (int k = n & ~3; k < n; ++k) y[k] = a * x[k];
}
