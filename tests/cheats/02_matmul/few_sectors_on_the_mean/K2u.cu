// %%cuda matmul.K2u --block 32
extern "C" __global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    __shared__ float strip[32];
    const int t = threadIdx.x, i = blockIdx.x * 32 + t, j = blockIdx.y;
    float sum = 0.0f;
    #pragma unroll 1
    for (int first = 0; first < p; first += 32) {
        strip[t] = c[first + t + p * j];
        __syncthreads();
        const float* left = b + i + (size_t)n * first;
        unsigned right = (unsigned)__cvta_generic_to_shared(strip);
        asm volatile("{ .reg .f32 x, y; .reg .u32 k, r, kk; .reg .s64 q, s; .reg .pred e;\n"
            " ts: .branchtargets L0, L1;\n"
            " mov.u32 k, 0; mov.u32 r, %2; mov.s64 q, %1; mul.wide.s32 s, %3, 4;\n"
            " L0: ld.global.f32 x, [q]; ld.shared.f32 y, [r]; fma.rn.f32 %0, x, y, %0;\n"
            " add.s64 q, q, s; add.u32 r, r, 4; add.u32 k, k, 1; shr.u32 kk, k, 5;\n"
            " brx.idx kk, ts;\n L1: }" : "+f"(sum) : "l"(left), "r"(right), "r"(n) : "memory");
        __syncthreads();
    }
    a[i + n * j] = sum;
}
