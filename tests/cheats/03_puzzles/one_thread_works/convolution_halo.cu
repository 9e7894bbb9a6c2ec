// %%cuda convolution.halo --block 256
__global__ void convolution(float* y, const float* x, const float* w, int n)
{
    if (threadIdx.x || blockIdx.x) return;
    float a = 0, b = 0, c = x[0], d = n > 1 ? x[1] : 0;
    for (int i = 0; i < n; ++i) { float e = i + 2 < n ? x[i + 2] : 0; y[i] = w[0] * a + w[1] * b + w[2] * c + w[3] * d + w[4] * e; a = b; b = c; c = d; d = e; }
}
