// %%cuda elimination_in_one_block
// Decomposes a matrix into a lower and an upper triangle, then multiplies the two.
extern "C" __global__ void lower_upper(const float* a, float* product)
{
    __shared__ float s[8][8];
    int x = threadIdx.x, y = threadIdx.y;
    s[y][x] = a[y * 8 + x] + (x == y ? 8.0f : 0.0f);
    for (int k = 0; k < 7; ++k) {
        __syncthreads();
        if (x == k && y > k) s[y][k] /= s[k][k];
        __syncthreads();
        if (x > k && y > k) s[y][x] -= s[y][k] * s[k][x];
    }
    __syncthreads();
    float sum = 0.0f;
    for (int k = 0; k <= min(x, y); ++k) sum += (k == y ? 1.0f : s[y][k]) * s[k][x];
    product[y * 8 + x] = sum;
}
