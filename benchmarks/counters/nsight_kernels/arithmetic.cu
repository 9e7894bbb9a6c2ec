// Every thread with lane < lanes evaluates EXPRESSION of x and y 16 times; the values come from memory.
extern "C" __global__ void arithmetic(const TYPE* xs, const TYPE* ys, TYPE* out, int lanes)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    TYPE x = xs[t], y = ys[t];
    if ((int)(threadIdx.x % 32) < lanes) {
#pragma unroll 1
        for (int r = 0; r < 16; ++r) x = EXPRESSION;
    }
    out[t] = x;
}
