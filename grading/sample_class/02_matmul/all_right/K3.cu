// %%cuda matmul.K3 --block 32 --tile 2
// K3: two rows a thread, 32 apart, use each value of the strip twice.
extern "C" __global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    __shared__ float strip[32];
    int t = threadIdx.x, i0 = blockIdx.x * 64 + t, i1 = i0 + 32, j = blockIdx.y;
    float sum0 = 0.0f, sum1 = 0.0f;
    for (int k0 = 0; k0 < p; k0 += 32) {
        int length = min(32, p - k0);
        if (t < length) strip[t] = c[k0 + t + p * j];
        __syncthreads();
        for (int k = 0; k < length; ++k) {
            float value = strip[k];
            if (i0 < n) sum0 += b[i0 + n * (k0 + k)] * value;
            if (i1 < n) sum1 += b[i1 + n * (k0 + k)] * value;
        }
        __syncthreads();
    }
    if (i0 < n) a[i0 + n * j] = sum0;
    if (i1 < n) a[i1 + n * j] = sum1;
}
