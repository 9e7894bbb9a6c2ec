// %%cuda early_return
// Threads return at several places; no barrier follows.
extern "C" __global__ void classify(const float* x, int* kind, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    if (v != v) { kind[i] = 0; return; }
    if (v < 0.0f) { kind[i] = 1; return; }
    for (int k = 0; k < 8; ++k) {
        if (v < 1.0f) { kind[i] = 10 + k; return; }
        v *= 0.5f;
    }
    kind[i] = 99;
}

extern "C" __global__ void tail(const int* x, int* out, int n)
{
    __shared__ int s[96];
    int t = threadIdx.x;
    s[t] = t < n ? x[t] : 0;
    __syncthreads();   // all threads come here; then whole warps and parts of warps leave
    if (t >= n) return;
    out[t] = s[n - 1 - t];
}
