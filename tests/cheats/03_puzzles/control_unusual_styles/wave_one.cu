// %%cuda wave.one --block 512 --tile 4
__global__ void wave(float* y, const float* x, float a, int n)
{
    for (int i = blockIdx.x * BLOCK_X + threadIdx.x, step = gridDim.x * BLOCK_X; i < n; i += 2 * step) {
        float u = x[i], v = i + step < n ? x[i + step] : 0.0f;
        y[i] = a * u; if (i + step < n) y[i + step] = a * v;
    }
}
