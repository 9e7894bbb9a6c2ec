// %%cuda warps_by_flag
// No block barrier: data, fence, flag on one side; flag, fence, data on the other.
extern "C" __global__ void pass_on(const int* x, int* out)
{
    __shared__ int s[32];
    __shared__ volatile int ready;
    int lane = threadIdx.x % 32;
    if (threadIdx.x == 0) ready = 0;
    __syncthreads();
    if (threadIdx.x < 32) {
        s[lane] = x[blockIdx.x * 32 + lane] + 1;
        __threadfence_block();
        __syncwarp();
        if (lane == 0) ready = 1;
    } else {
        while (ready == 0) { }
        __threadfence_block();
        out[blockIdx.x * 32 + lane] = s[31 - lane];
    }
}
