// %%cuda text_search
// A pattern in constant memory at every place of a text, the number of words, and CRC-32 with a table computed by the kernel.
__constant__ char pattern[] = "abra";

__device__ int length(const char* text)
{
    int n = 0;
    while (text[n]) ++n;
    return n;
}

extern "C" __global__ void find(const char* text, int n, int* place, int* count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x, m = length(pattern);
    if (i + m > n) return;
    for (int k = 0; k < m; ++k)
        if (text[i + k] != pattern[k]) return;
    place[atomicAdd(count, 1)] = i;
}

extern "C" __global__ void count_words(const char* text, int n, int* count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const bool begins = i < n && text[i] != ' ' && (i == 0 || text[i - 1] == ' ');
    const int words = __syncthreads_count(begins);
    if (threadIdx.x == 0) atomicAdd(count, words);
}

extern "C" __global__ void crc32(const unsigned char* message, int bytes, unsigned* crc, int messages)
{
    __shared__ unsigned table[256];
    for (int k = threadIdx.x; k < 256; k += blockDim.x) {
        unsigned c = k;
        for (int bit = 0; bit < 8; ++bit) c = c & 1 ? 0xedb88320u ^ c >> 1 : c >> 1;
        table[k] = c;
    }
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= messages) return;
    unsigned c = ~0u;
    for (int k = 0; k < bytes; ++k) c = table[(c ^ message[i * bytes + k]) & 255] ^ c >> 8;
    crc[i] = ~c;
}
