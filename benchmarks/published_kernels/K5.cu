// %%cuda matmul.K5 --block 16 16
// Square tiles of b and c in shared memory.
extern "C" __global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    __shared__ float bt[16][16], ct[16][16];
    int tx = threadIdx.x, ty = threadIdx.y, i = blockIdx.x * 16 + tx, j = blockIdx.y * 16 + ty;
    float sum = 0.0f;
#pragma unroll 1
    for (int k0 = 0; k0 < p; k0 += 16) {
        bt[ty][tx] = b[i + n * (k0 + ty)];
        ct[ty][tx] = c[k0 + tx + p * j];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 16; ++k) sum += bt[k][tx] * ct[ty][k];
        __syncthreads();
    }
    a[i + n * j] = sum;
}
