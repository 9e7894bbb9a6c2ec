// %%cuda barrier_in_uniform_branch
// The number of rotations differs between blocks, but not within a block.
extern "C" __global__ void turn(const int* turns, const int* x, int* out)
{
    __shared__ int s[64];
    int t = threadIdx.x, b = blockIdx.x, n = turns[b];
    s[t] = x[b * 64 + t];
    if (n > 0) {
        for (int k = 0; k < n; ++k) {
            __syncthreads();
            int next = s[(t + 1) % 64];
            __syncthreads();
            s[t] = next;
        }
    }
    out[b * 64 + t] = s[t];
}
