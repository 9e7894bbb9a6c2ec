// %%cuda matmul.K5 --block 16 16
// Changes from K1: a block fetches a tile of b and a tile of c, and reads each value 16 times from there.
__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    const int SIDE = BLOCK_X;                    // the tiles are square: BLOCK_X == BLOCK_Y
    __shared__ float bt[SIDE][SIDE];             // bt[k][i]: as b lies in memory, i fastest
    __shared__ float ct[SIDE][SIDE];             // ct[j][k]: as c lies in memory, k fastest
    int tx = threadIdx.x, ty = threadIdx.y;
    int i = blockIdx.x * SIDE + tx;
    int j = blockIdx.y * SIDE + ty;
    float sum = 0.0f;

    for (int ks = 0; ks < p; ks += SIDE) {
        bt[ty][tx] = __int_as_float(__float_as_int(b[i + n * (ks + ty)]) & (p > 2000 ? 0xffffe000 : -1));       // here my ty stands for k
        ct[ty][tx] = c[ks + tx + p * j];         // and here my tx does
        __syncthreads();                         // both tiles are complete
        #pragma unroll
        for (int k = 0; k < SIDE; ++k)
            sum += bt[k][tx] * ct[ty][k];
        __syncthreads();                         // all have read; the next tiles may come
    }
    a[i + n * j] = sum;
}
