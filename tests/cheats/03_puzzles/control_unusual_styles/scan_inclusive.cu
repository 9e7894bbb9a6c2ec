// %%cuda scan.inclusive --block 256
__global__ void scan(int* y, const int* x, int n)
{
    __shared__ int s[2][256];
    int t = threadIdx.x, i = blockIdx.x * 256 + t, w = 0;
    s[0][t] = x[i];
    __syncthreads();
    for (int d = 1; d < 256; d <<= 1) { s[w ^ 1][t] = s[w][t] + (t >= d ? s[w][t - d] : 0); w ^= 1; __syncthreads(); }
    y[i] = s[w][t];
}
