// %%cuda matmul.K5 --block 16 16
__device__ __forceinline__ void copy4(float* to, const float* from) { asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from) : "memory"); }
__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    __shared__ float bt[2][16][16], ct[2][16][17];
    int tx = threadIdx.x, ty = threadIdx.y, i = blockIdx.x * 16 + tx, j = blockIdx.y * 16 + ty, s = 0;
    float sum = 0;
    copy4(&bt[0][ty][tx], b + i + n * ty); copy4(&ct[0][ty][tx], c + tx + p * j);
    asm volatile("cp.async.commit_group;");
    for (int k0 = 0; k0 < p; k0 += 16, s ^= 1) {
        if (k0 + 16 < p) { copy4(&bt[s ^ 1][ty][tx], b + i + n * (k0 + 16 + ty)); copy4(&ct[s ^ 1][ty][tx], c + k0 + 16 + tx + p * j); asm volatile("cp.async.commit_group;\n cp.async.wait_group 1;" ::: "memory"); }
        else asm volatile("cp.async.wait_group 0;" ::: "memory");
        __syncthreads();
        #pragma unroll
        for (int k = 15; k >= 0; --k) sum += bt[s][k][tx] * ct[s][ty][k];
        __syncthreads();
    }
    a[i + n * j] = sum;
}
