// %%cuda quicksort_stack
// Each thread sorts a row of its own in global memory: quicksort with a stack in a local array.
extern "C" __global__ void sort_rows(int* data, int width, int rows)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= rows) return;
    int* v = data + t * width;
    int2 stack[32];
    int top = 0;
    stack[top++] = make_int2(0, width - 1);
    while (top > 0) {
        const int2 part = stack[--top];
        int i = part.x, j = part.y;
        if (i >= j) continue;
        const int pivot = v[(i + j) / 2];
        while (i <= j) {
            while (v[i] < pivot) ++i;
            while (v[j] > pivot) --j;
            if (i <= j) {
                const int keep = v[i];
                v[i++] = v[j];
                v[j--] = keep;
            }
        }
        stack[top++] = make_int2(part.x, j);
        stack[top++] = make_int2(i, part.y);
    }
}
