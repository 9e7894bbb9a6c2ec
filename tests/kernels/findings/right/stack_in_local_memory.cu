// %%cuda stack_in_local_memory
// Reverses the decimal digits of a number with a stack in local memory.
extern "C" __global__ void turn_digits(const int* x, int* turned)
{
    int stack[12], top = 0, v = x[threadIdx.x];
    do {
        stack[top++] = v % 10;
        v /= 10;
    } while (v > 0);
    int result = 0, factor = 1;
    while (top > 0) {
        result += factor * stack[--top];
        factor *= 10;
    }
    turned[threadIdx.x] = result;
}
