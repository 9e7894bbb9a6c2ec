// %%cuda matmul.K3 --block 8 16 --tile 4 1
// K3: four neighbouring rows a thread as one float4 where columns of b are aligned, c broadcast by shuffle.
__device__ __forceinline__ float4 rows_of(const float* b, int i, int n, size_t at)
{
    if (n % 4 == 0 && i + 4 <= n) return *reinterpret_cast<const float4*>(b + at);
    return make_float4(i < n ? b[at] : 0.0f, i + 1 < n ? b[at + 1] : 0.0f, i + 2 < n ? b[at + 2] : 0.0f,
                       i + 3 < n ? b[at + 3] : 0.0f);
}

extern "C" __global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    const int i = 4 * (blockIdx.x * 8 + threadIdx.x), j = blockIdx.y * 16 + threadIdx.y;
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (int k0 = 0; k0 < p; k0 += 8) {   // eight lanes share one column of c: each loads one of its values
        const float mine = j < m && k0 + (int)threadIdx.x < p ? c[k0 + threadIdx.x + (size_t)p * j] : 0.0f;
        for (int k = 0; k < 8; ++k) {
            const float value = __shfl_sync(0xffffffffu, mine, k, 8);
            if (k0 + k < p) {
                const float4 r = rows_of(b, i, n, i + (size_t)n * (k0 + k));
                sum.x += r.x * value;
                sum.y += r.y * value;
                sum.z += r.z * value;
                sum.w += r.w * value;
            }
        }
    }
    if (j >= m) return;
    float* out = a + i + (size_t)n * j;
    if (n % 4 == 0 && i + 4 <= n) {
        *(float4*)out = sum;
    } else {
        const float parts[4] = {sum.x, sum.y, sum.z, sum.w};
        for (int s = 0; s < 4; ++s)
            if (i + s < n) out[s] = parts[s];
    }
}
