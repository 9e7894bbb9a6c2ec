// %%cuda matmul.K5 --block 32 32
__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    __shared__ float bs[32][33], cs[32][33];
    const int x = threadIdx.x, y = threadIdx.y;
    const float *from_b = b + blockIdx.x * 32 + x + n * y, *from_c = c + x + p * (blockIdx.y * 32 + y);
    float sum = 0.0f;
    for (int left = p; left > 0; left -= 32, from_b += 32 * n, from_c += 32) {
        bs[y][x] = *from_b;
        cs[y][x] = *from_c;
        __syncthreads();
        for (int k = 0; k < 32; ++k) sum += bs[k][x] * cs[y][k];
        __syncthreads();
    }
    a[blockIdx.x * 32 + x + n * (blockIdx.y * 32 + y)] = sum;
}
