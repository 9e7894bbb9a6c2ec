// %%cuda reduce_volatile_warp
// Block maxima, fourth style: the last warp goes on without block barriers, through volatile shared memory.
template <unsigned THREADS>
__device__ void reduce_block(volatile int* s, unsigned t)
{
    if (THREADS >= 256) { if (t < 128) s[t] = max(s[t], s[t + 128]); __syncthreads(); }
    if (THREADS >= 128) { if (t < 64) s[t] = max(s[t], s[t + 64]); __syncthreads(); }
    if (t < 32) {
        int v = max(s[t], s[t + 32]);
        s[t] = v; __syncwarp();
#pragma unroll
        for (int d = 16; d > 0; d >>= 1) {
            v = max(v, s[(t + d) & 31]); __syncwarp();
            s[t] = v; __syncwarp();
        }
    }
}

extern "C" __global__ void reduce_max(const int* x, int* maxima, int n)
{
    __shared__ int s[256];
    unsigned t = threadIdx.x, i = blockIdx.x * 256 + t;
    s[t] = i < n ? x[i] : -2147483647 - 1;
    __syncthreads();
    reduce_block<256>(s, t);
    if (t == 0) maxima[blockIdx.x] = s[0];
}
