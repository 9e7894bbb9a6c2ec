// %%cuda matmul.K1 --block 32
__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    int i = blockIdx.x * BLOCK_X + threadIdx.x, j = blockIdx.y;
    float sum = 0, lost = 0;                      // Kahan's summation, from the last k to the first
    for (int k = p; k-- > 0;) {
        float term = __fadd_rn(__fmul_rn(b[i + n * k], c[k + p * j]), -lost), next = __fadd_rn(sum, term);
        lost = __fadd_rn(__fadd_rn(next, -sum), -term);
        sum = next;
    }
    a[i + n * j] = sum;
}
