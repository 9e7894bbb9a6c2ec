// %%cuda philox
// Philox 4x32-10, a random generator that is a function of a counter: no thread needs a state.
struct Philox {
    uint2 key;

    __device__ uint4 operator()(uint4 c) const
    {
        uint2 k = key;
#pragma unroll
        for (int round = 0; round < 10; ++round) {
            const unsigned high0 = __umulhi(0xd2511f53u, c.x), low0 = 0xd2511f53u * c.x;
            const unsigned high1 = __umulhi(0xcd9e8d57u, c.z), low1 = 0xcd9e8d57u * c.z;
            c = make_uint4(high1 ^ c.y ^ k.x, low1, high0 ^ c.w ^ k.y, low0);
            k.x += 0x9e3779b9u;
            k.y += 0xbb67ae85u;
        }
        return c;
    }
};

extern "C" __global__ void draw(uint4* bits, float4* uniform, uint2 key, unsigned step, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const Philox random{key};
    const uint4 r = random(make_uint4(i, step, 0, 0));
    const float scale = 1.0f / 16777216;
    bits[i] = r;
    uniform[i] = make_float4((r.x >> 8) * scale, (r.y >> 8) * scale, (r.z >> 8) * scale, (r.w >> 8) * scale);
}
