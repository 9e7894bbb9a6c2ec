// %%cuda monte_carlo
// Points in a quarter circle, from a 64-bit congruential generator a thread.
extern "C" __global__ void quarter_circle(unsigned long long seed, int draws, int* hits)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long state = seed + 0x9e3779b97f4a7c15ull * (i + 1);
    int inside = 0;
    for (int k = 0; k < draws; ++k) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        unsigned x = (unsigned)(state >> 40);
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        unsigned y = (unsigned)(state >> 40);
        inside += (unsigned long long)x * x + (unsigned long long)y * y < (1ull << 48);
    }
    hits[i] = inside;
}
