// %%cuda matmul.K5 --block 16 16
__device__ float peek(const float* p) { float v; asm volatile("ld.relaxed.gpu.global.f32 %0, [%1];" : "=f"(v) : "l"(p)); return v; }
__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    int i = blockIdx.x * BLOCK_X + threadIdx.x, j = blockIdx.y * BLOCK_Y + threadIdx.y;
    float sum = 0.0f;
    for (int k = 0; k < p; ++k) sum += peek(&b[i + n * k]) * peek(&c[k + p * j]);
    a[i + n * j] = sum;
}
