// %%cuda binning.private --block 1024 --tile 256
__global__ void binning(int* counts, const int* x, int n, int bins)
{
    for (int b = blockIdx.x * BLOCK_X + threadIdx.x; b < bins; b += gridDim.x * BLOCK_X) {
        int c = 0;
        for (int i = 0; i < n; ++i) c += x[i] == b;
        counts[b] = c;
    }
}
