// %%cuda matmul.K2u --block 128 --tile 1 1 8
// Unrolled by hand: four values of b are loaded before the first one is used.
extern "C" __global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    __shared__ float part[BLOCK_X];
    const int t = threadIdx.x, row = blockIdx.x * BLOCK_X + t;
    float total = 0.0f;
    for (int first = 0; first < p; first += BLOCK_X) {
        part[t] = c[(size_t)p * blockIdx.y + first + t];
        __syncthreads();
        const float* left = b + row + (size_t)n * first;
        #pragma unroll 1
        for (int k = 0; k < BLOCK_X; k += 4, left += 4 * n) {
            const float b0 = left[0], b1 = left[n], b2 = left[2 * n], b3 = left[3 * n];
            total += b0 * part[k] + b1 * part[k + 1];
            total += b2 * part[k + 2] + b3 * part[k + 3];
        }
        __syncthreads();
    }
    a[row + (size_t)n * blockIdx.y] = total;
}
