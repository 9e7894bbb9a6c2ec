// %%cuda map.guarded --block 33
__global__ void map(float* y, const float* x, float a, int n)
{
    auto f = [=](int i) { if (i < n) __stcs(y + i, a * __ldcs(x + i)); };
    f(blockIdx.x * BLOCK_X + threadIdx.x);
}
