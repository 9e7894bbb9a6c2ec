// %%cuda caesar
// Bytes as characters: letters are shifted, all else stays.
__device__ char turn(char c, int by)
{
    if (c >= 'a' && c <= 'z') return (c - 'a' + by) % 26 + 'a';
    if (c >= 'A' && c <= 'Z') return (c - 'A' + by) % 26 + 'A';
    return c;
}

extern "C" __global__ void caesar(char* text, int length, int by)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < length) text[i] = turn(text[i], by);
}
