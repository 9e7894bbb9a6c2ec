// %%cuda collatz
// Steps to reach 1: a loop of a different length in every lane, with a branch inside.
extern "C" __global__ void collatz(int* steps, unsigned long long* peak, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned long long v = i + 1, top = v;
    int count = 0;
    while (v != 1) {
        if (v & 1)
            v = 3 * v + 1;
        else
            do {
                v >>= 1;
                count++;
            } while (!(v & 1) && v > 1);
        if (v > top) top = v;
        if (v & 1) continue;
        count++;
    }
    steps[i] = count;
    peak[i] = top;
}
