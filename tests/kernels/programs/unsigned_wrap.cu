// %%cuda unsigned_wrap
// Unsigned index arithmetic that wraps below 0 before a guard tests it, in 32 bits and in 16.
extern "C" __global__ void left_neighbour(const int* x, int* out, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned left = i - 1u, far = i - 40u;
    if (i >= n) return;
    int sum = 0;
    if (left < n) sum += x[left];
    if (far < n) sum += 1000 * x[far];
    if (i + 0xfffffffeu < n) sum += 1000000 * x[i + 0xfffffffeu];
    out[i] = sum;
}

extern "C" __global__ void countdown(const int* x, int* out, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int sum = 0;
    for (unsigned k = i; k < n; --k) sum += x[k];   // ends when k wraps
    unsigned short small = (unsigned short)(i - 5u);
    out[i] = sum + small;
}
