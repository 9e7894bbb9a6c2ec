// %%cuda integer_hash
// Bit mixing in 32 and 64 bits: rotations, multiplications, high halves, and the bit-counting intrinsics.
__device__ unsigned rotate(unsigned v, int by) { return (v << by) | (v >> (32 - by)); }

extern "C" __global__ void hash32(const unsigned* x, unsigned* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned h = x[i] * 2654435761u;
    h = rotate(h, 13) ^ (h >> 7);
    h += __umulhi(h, 0x9e3779b9u);
    h ^= __brev(x[i]);
    h = h * 5u + 0xe6546b64u;
    out[i] = h;
}

extern "C" __global__ void hash64(const unsigned long long* x, unsigned long long* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned long long h = x[i];
    h ^= h >> 31;
    h *= 0x7fb5d329728ea185ull;
    h ^= h >> 27;
    h *= 0x81dadef4bc2dd44dull;
    h ^= h >> 33;
    out[i] = h + __umul64hi(h, x[i]);
}

extern "C" __global__ void count_bits(const unsigned* x, int* ones, int* leading, int* first, int* digits, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned v = x[i];
    ones[i] = __popc(v);
    leading[i] = __clz((int)v);
    first[i] = __ffs((int)v);
    int sum = 0, sign = (int)v;
    for (; v; v /= 10) sum += v % 10;
    digits[i] = sign < 0 ? -(sign / 7 + sign % 7) : sum;
}
