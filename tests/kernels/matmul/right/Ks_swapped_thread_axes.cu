// %%cuda matmul.Ks --block 16 16
// Ks: a square block whose threads take x for the column and y for the row.
__global__ void mmkernel(float *a, const float *b, const float *c, int n, int m, int p)
{
    const int row = blockIdx.x * BLOCK_X + threadIdx.y;
    const int column = blockIdx.y * BLOCK_Y + threadIdx.x;
    if (row >= n || column >= m) return;
    float dot = 0;
    int k = p;
    while (k-- > 0) dot = fmaf(b[row + k * n], c[k + column * p], dot);
    a[row + column * n] = dot;
}
