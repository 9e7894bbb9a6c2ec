// %%cuda matmul.K2u --block 32 1 --tile 1 1 32
template <int K> struct Unrolled { static __device__ float sum(const float* b, const float* s, int n, float acc) { return Unrolled<K - 1>::sum(b + n, s + 1, n, acc + b[0] * s[0]); } };
template <> struct Unrolled<0> { static __device__ float sum(const float*, const float*, int, float acc) { return acc; } };
__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    __shared__ float strip[32];
    int t = threadIdx.x, i = blockIdx.x * 32 + t, j = blockIdx.y;
    float sum = 0;
    for (int k0 = 0; k0 < p; k0 += 32) {
        __syncwarp();
        strip[t] = c[k0 + t + p * j];
        __syncwarp();
        sum = Unrolled<32>::sum(b + i + n * k0, strip, n, sum);
    }
    a[i + n * j] = sum;
}
