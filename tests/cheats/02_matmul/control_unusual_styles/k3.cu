// %%cuda matmul.K3 --block 64 1 --tile 2 1 4
__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    __shared__ float strip[BLOCK_X];
    int t = threadIdx.x, i = (blockIdx.x * BLOCK_X + t) * 2, j = blockIdx.y;
    float2 sum = make_float2(0, 0);
    for (int k0 = 0; k0 < p; k0 += BLOCK_X) {
        strip[t] = c[k0 + t + p * j];
        __syncthreads();
        #pragma unroll 4
        for (int k = 0; k < BLOCK_X; ++k) {
            float2 v = *(const float2*)(b + i + n * (k0 + k)); float s = strip[k];
            sum.x += v.x * s; sum.y += v.y * s;
        }
        __syncthreads();
    }
    *(float2*)(a + i + n * j) = sum;
}
