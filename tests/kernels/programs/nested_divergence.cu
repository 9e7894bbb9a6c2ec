// %%cuda nested_divergence
// Loops in loops whose bounds depend on the lane, with break, continue and a return in the middle.
extern "C" __global__ void primes_and_pairs(const int* x, int* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int total = 0;
    for (int v = 2; v <= x[i]; ++v) {
        if (v > 2 && v % 2 == 0) continue;
        bool prime = true;
        for (int d = 3; d * d <= v; d += 2) {
            if (v % d) continue;
            prime = false;
            break;
        }
        if (!prime) continue;
        if (v > 90) {
            out[i] = -total;
            return;
        }
        for (int w = 0; w < v % 4; ++w) total += (w ^ i) & 1 ? v : 1;
    }
    out[i] = total;
}
