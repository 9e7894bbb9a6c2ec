// %%cuda function_pointers
// A table of functions, called through a pointer that differs from lane to lane.
typedef int (*Operation)(int, int);
__device__ int add(int a, int b) { return a + b; }
__device__ int subtract(int a, int b) { return a - b; }
__device__ int multiply(int a, int b) { return a * b; }
__device__ Operation table[3] = {add, subtract, multiply};

extern "C" __global__ void apply(const int* which, const int* a, const int* b, int* out, int n)
{
    int i = threadIdx.x;
    if (i < n) out[i] = table[which[i]](a[i], b[i]);
}
