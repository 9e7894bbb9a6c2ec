// %%cuda stride.unit --block 64 --tile 8
template <int Points> struct Run {
    float v[Points];
    __device__ void load(const float* x, int first, int step, int n)
    {
        #pragma unroll
        for (int k = 0; k < Points; ++k) if (first + k * step < n) v[k] = x[first + k * step];
    }
};
__global__ void stride(float* y, const float* x, float a, int n)
{
    const int first = blockIdx.x * BLOCK_X * TILE_X + threadIdx.x;
    Run<TILE_X> run;
    run.load(x, first, BLOCK_X, n);
    for (int k = 0; k < TILE_X; ++k) if (first + k * BLOCK_X < n) y[first + k * BLOCK_X] = a * run.v[k];
}
