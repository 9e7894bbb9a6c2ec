// %%cuda scan.inclusive --block 256
// Two buffers: a step reads one of them and writes the other.
__global__ void scan(int* y, const int* x, int n)
{
    __shared__ int line[2][256];
    const unsigned t = threadIdx.x, i = blockIdx.x * 256u + t;
    line[0][t] = x[i];
    int from = 0;
    for (unsigned d = 1; d < 256; d <<= 1, from ^= 1) {
        __syncthreads();
        line[from ^ 1][t] = line[from][t] + (t >= d ? line[from][t - d] : 0);
    }
    y[i] = line[from][t];
}
