// %%cuda binning.private --block 256
__global__ void binning(int* counts, const int* x, int n, int bins)
{
    if (threadIdx.x == 0 && blockIdx.x == 0) for (int i = 0; i < n; ++i) counts[x[i]]++;
}
