// %%cuda map.guarded --block 40
// Every thread takes one element of each part of the grid, from the end to the beginning.
__global__ void map(float* y, const float* x, float a, int n)
{
    long long threads = (long long)gridDim.x * blockDim.x, i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    for (long long k = i; k < n; k += threads) *(y + k) = *(x + k) * a;
}
