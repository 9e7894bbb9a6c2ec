// %%cuda halo_by_edge_threads
// Sums of seven neighbours: the first three threads of a block load both halos.
#define R 3
extern "C" __global__ void window_sum(const float* x, float* out, int n)
{
    __shared__ float s[64 + 2 * R];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    s[t + R] = i < n ? x[i] : 0.0f;
    if (t < R) {
        s[t] = i >= R ? x[i - R] : 0.0f;
        s[t + 64 + R] = i + 64 < n ? x[i + 64] : 0.0f;
    }
    __syncthreads();
    if (i >= n) return;
    float sum = 0.0f;
    for (int k = -R; k <= R; ++k) sum += s[t + R + k];
    out[i] = sum;
}
