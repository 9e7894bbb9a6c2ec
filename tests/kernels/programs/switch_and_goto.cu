// %%cuda switch_and_goto
// A small stack machine a thread: a switch with fall-through and default, and goto out of nested loops.
enum Op { PUSH, ADD, SUB, MUL, DUP, NEG, HALT };

extern "C" __global__ void interpret(const int* programs, int* results, int length, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int* code = programs + i * length;
    int stack[16], depth = 0, pc = 0, result = -1;
next:
    if (pc >= length || depth > 14) goto done;
    switch (code[pc++]) {
    case PUSH: stack[depth++] = code[pc++]; goto next;
    case NEG: stack[depth - 1] = -stack[depth - 1]; goto next;
    case DUP: stack[depth] = stack[depth - 1]; depth++; goto next;
    case SUB: stack[depth - 1] = -stack[depth - 1];   // a - b is a + (-b)
    case ADD: depth--; stack[depth - 1] += stack[depth]; goto next;
    case MUL: depth--; stack[depth - 1] *= stack[depth]; goto next;
    case HALT: goto done;
    default: depth = 0; goto done;
    }
done:
    if (depth > 0) result = stack[depth - 1];
    results[i] = result;
}

extern "C" __global__ void first_pair(const int* x, int* out, int length, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, found = -1;
    if (i >= n) return;
    for (int a = 0; a < length; ++a)
        for (int b = a + 1; b < length; ++b)
            if (x[i * length + a] == x[i * length + b]) {
                found = a * length + b;
                goto end;
            }
end:
    out[i] = found;
}
