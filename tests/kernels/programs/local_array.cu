// %%cuda local_array
// Local arrays indexed by values known only when the kernel runs: an insertion sort and a digit count a thread.
extern "C" __global__ void median_of_nine(const int* x, int* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int v[9];
    for (int k = 0; k < 9; ++k) {
        int value = x[9 * i + k], at = k;
        while (at > 0 && v[at - 1] > value) {
            v[at] = v[at - 1];
            at--;
        }
        v[at] = value;
    }
    out[i] = v[4];
}

extern "C" __global__ void commonest_digit(const unsigned* x, int* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned char seen[10] = {0};
    for (unsigned v = x[i]; v; v /= 10) seen[v % 10]++;
    int best = 0;
    for (int d = 1; d < 10; ++d)
        if (seen[d] > seen[best]) best = d;
    out[i] = best;
}
