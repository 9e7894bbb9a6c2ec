// %%cuda matmul.K2 --block 32
// K2: a strip of 32 values of c goes through shared memory; the last strip may be shorter.
extern "C" __global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    __shared__ float strip[32];
    const int t = threadIdx.x, i = blockIdx.x * 32 + t, j = blockIdx.y;
    float sum = 0.0f;
    for (int k0 = 0; k0 < p; k0 += 32) {
        if (k0 + t < p) strip[t] = c[k0 + t + p * j];
        __syncthreads();
        if (i < n)
            for (int k = k0; k < min(k0 + 32, p); ++k) sum += b[i + n * k] * strip[k - k0];
        __syncthreads();
    }
    if (i < n) a[i + n * j] = sum;
}
