// %%cuda matmul.K1 --block 32 4
// A block of 32 by 4 threads, and pointers that walk along a row of b and a column of c.
extern "C" __global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    const int row = blockDim.x * blockIdx.x + threadIdx.x;
    const int column = blockDim.y * blockIdx.y + threadIdx.y;
    const float* right = c + (size_t)column * p;
    float total = 0;
    for (const float* left = b + row; right != c + (size_t)(column + 1) * p; left += n, ++right)
        total = fmaf(*left, *right, total);
    a[(size_t)column * n + row] = total;
}
