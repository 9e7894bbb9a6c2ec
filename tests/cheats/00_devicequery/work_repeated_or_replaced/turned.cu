// %%cuda turned
__global__ void turned(const float* a, float* b)
{
    const int lane = threadIdx.x, first = 1024 * blockIdx.x;
    for (int row = 0; row < 32; ++row) {
        float v = a[first + 32 * row + lane];
        volatile float* one = b + first + row;
        if (lane == 0) for (int k = 0; k < 12; ++k) *one = v;
        b[first + 32 * lane + row] = v;
    }
}
