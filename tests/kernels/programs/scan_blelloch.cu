// %%cuda scan_blelloch
// Exclusive scan of 2 * blockDim.x values: an up-sweep, a down-sweep, and padding against bank conflicts.
#define PAD(i) ((i) + ((i) >> 5))
extern "C" __global__ void scan(const float* in, float* out)
{
    __shared__ float tree[PAD(512)];
    int t = threadIdx.x, n = 2 * blockDim.x, stride = 1;
    const float* mine = in + blockIdx.x * n;
    tree[PAD(t)] = mine[t];
    tree[PAD(t + n / 2)] = mine[t + n / 2];
    for (int d = n >> 1; d > 0; d >>= 1, stride *= 2) {
        __syncthreads();
        if (t < d) tree[PAD(stride * (2 * t + 2) - 1)] += tree[PAD(stride * (2 * t + 1) - 1)];
    }
    if (t == 0) tree[PAD(n - 1)] = 0.0f;
    for (int d = 1; d < n; d *= 2) {
        stride >>= 1;
        __syncthreads();
        if (t < d) {
            int a = PAD(stride * (2 * t + 1) - 1), b = PAD(stride * (2 * t + 2) - 1);
            float keep = tree[a];
            tree[a] = tree[b];
            tree[b] += keep;
        }
    }
    __syncthreads();
    out[blockIdx.x * n + t] = tree[PAD(t)];
    out[blockIdx.x * n + t + n / 2] = tree[PAD(t + n / 2)];
}
