// %%cuda function_calls
// Functions that are not inlined: values, pointers to locals, structs returned, calls in divergent branches.
struct Pair { int low, high; };

__device__ __noinline__ Pair ordered(int a, int b)
{
    Pair p;
    p.low = a < b ? a : b;
    p.high = a < b ? b : a;
    return p;
}

__device__ __noinline__ int gcd(int a, int b)
{
    while (b) {
        int r = a % b;
        a = b;
        b = r;
    }
    return a;
}

__device__ __noinline__ void split(float v, int* whole, float* rest)
{
    *whole = (int)v;
    *rest = v - *whole;
}

extern "C" __global__ void calls(const int* a, const int* b, int* divisor, int* spread, float* rest, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Pair p = ordered(a[i], b[i]);
    spread[i] = p.high - p.low;
    int d = -1;
    if (p.low > 0) d = gcd(p.high, p.low);
    divisor[i] = d;
    int whole;
    float part;
    split(0.37f * a[i], &whole, &part);
    rest[i] = part + whole;
}
