// %%cuda too_many_digits
// Fault, line 5: numbers above 99999999 have more digits than the array has elements.
extern "C" __global__ void turn_digits(const unsigned* x, unsigned* out)
{
    unsigned digit[8];
    unsigned v = x[threadIdx.x], result = 0;
    int count = 0;
#pragma unroll 1
    while (v > 0) {
        digit[count++] = v % 10;
        v /= 10;
    }
#pragma unroll 1
    for (int k = 0; k < count; ++k)
        result = 10 * result + digit[k];
    out[threadIdx.x] = result;
}
