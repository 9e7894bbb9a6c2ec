// %%cuda matmul.K2 --block 64
__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    __shared__ float4 strip[BLOCK_X / 4];
    int t = threadIdx.x, i = blockIdx.x * BLOCK_X + t, j = blockIdx.y;
    float sum = 0;
    for (int k0 = 0; k0 < p; k0 += BLOCK_X) {
        if (t < BLOCK_X / 4) strip[t] = reinterpret_cast<const float4*>(c + k0 + p * j)[t];
        __syncthreads();
        #pragma unroll 4
        for (int q = 0; q < BLOCK_X / 4; ++q) {
            float4 v = strip[q]; const float* r = b + i + n * (k0 + 4 * q);
            sum += r[0] * v.x; sum += r[n] * v.y; sum += r[2 * n] * v.z; sum += r[3 * n] * v.w;
        }
        __syncthreads();
    }
    a[i + n * j] = sum;
}
