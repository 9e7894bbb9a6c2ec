// %%cuda transpose_in_place
// Fault, line 6: only one of the two threads of a pair should pass this condition.
extern "C" __global__ void transpose(float* a)
{
    int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x != y) {
        float upper = a[y * 16 + x];
        float lower = a[x * 16 + y];
        a[y * 16 + x] = lower;
        a[x * 16 + y] = upper;
    }
}
