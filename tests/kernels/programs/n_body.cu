// %%cuda n_body
// Accelerations of n bodies, float4 positions through shared tiles, with rsqrtf.
__device__ float3 pull(float3 a, float4 me, float4 other)
{
    float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
    float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
    float s = other.w * inverse * inverse * inverse;
    a.x += dx * s;
    a.y += dy * s;
    a.z += dz * s;
    return a;
}

extern "C" __global__ void accelerate(const float4* body, float3* out, int n)
{
    __shared__ float4 tile[64];
    int i = blockIdx.x * 64 + threadIdx.x;
    float4 me = body[min(i, n - 1)];
    float3 a = make_float3(0.0f, 0.0f, 0.0f);
    for (int first = 0; first < n; first += 64) {
        int k = first + threadIdx.x;
        tile[threadIdx.x] = k < n ? body[k] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        __syncthreads();
#pragma unroll 4
        for (int b = 0; b < 64; ++b) a = pull(a, me, tile[b]);
        __syncthreads();
    }
    if (i < n) out[i] = a;
}
