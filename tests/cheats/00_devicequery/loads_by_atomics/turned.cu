// %%cuda turned
__global__ void turned(const float* a, float* b)
{
    const int lane = threadIdx.x, first = 1024 * blockIdx.x;
    for (int row = 0; row < 32; ++row) atomicExch(b + first + 32 * lane + row, a[first + 32 * row + lane]);
}
