// %%cuda index_64_bit
// Products past 2^31 and 2^32 in signed and unsigned 64 bits, division and remainder, brought back inside the array.
extern "C" __global__ void gather(const int* x, int* out, long long stride, long long length, int n)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    long long far = i * stride - 3000000000ll;
    long long at = far % length;
    if (at < 0) at += length;
    size_t back = (size_t)0 - (size_t)(i + 1);           // wraps to the end of 64 bits
    out[i] = x[at] + (int)(far / length) + (int)(back >> 60) + (x + (n - 1 - i))[0] * 7;
}

extern "C" __global__ void far_base(const int* x, int* out, int n)
{
    int i = threadIdx.x;
    const int* base = x - (1ll << 40);                   // never read through; the sum comes back inside
    if (i < n) out[i] = base[(1ll << 40) + (n - 1 - i)];
}
