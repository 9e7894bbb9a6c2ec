// %%cuda bytes_of_one_word
// Packs floats to bytes, four to a word: different bytes are different addresses.
extern "C" __global__ void pack(const float* x, unsigned* packed)
{
    __shared__ __align__(4) unsigned char bytes[128];
    int t = threadIdx.x;
    bytes[t] = (unsigned char)(fabsf(x[t]) * 255.0f);
    __syncthreads();
    if (t < 32) packed[t] = ((unsigned*)bytes)[t];
}
