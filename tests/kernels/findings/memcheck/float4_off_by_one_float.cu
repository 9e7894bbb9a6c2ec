// %%cuda float4_off_by_one_float
// Fault, line 6: x + 1 is not aligned for a float4.
extern "C" __global__ void norms(const float* x, float* out)
{
    const float4* v = (const float4*)(x + 1);
    float4 u = v[threadIdx.x];
    out[threadIdx.x] = sqrtf(u.x * u.x + u.y * u.y + u.z * u.z + u.w * u.w);
}
