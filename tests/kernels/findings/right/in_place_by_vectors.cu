// %%cuda in_place_by_vectors
// y += a * x with 16-byte loads and stores; each vector is accessed by one thread only.
extern "C" __global__ void saxpy(const float4* x, float4* y, float a)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 u = x[i], v = y[i];
    v.x += a * u.x;
    v.y += a * u.y;
    v.z += a * u.z;
    v.w += a * u.w;
    y[i] = v;
}
