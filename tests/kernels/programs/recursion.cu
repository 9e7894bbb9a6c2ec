// %%cuda recursion
// A function that calls itself twice, to a different depth in every lane.
__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

extern "C" __global__ void recursion(const int* x, int* out, int n)
{
    int i = threadIdx.x;
    if (i < n) out[i] = fibonacci(x[i]);
}
