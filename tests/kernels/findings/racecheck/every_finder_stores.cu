// %%cuda every_finder_stores
// Fault, line 10: several threads find a 3, and each stores a different index.
extern "C" __global__ void find(const int* x, int* place)
{
    __shared__ int found;
    int t = threadIdx.x;
    if (t == 0) found = -1;
    __syncthreads();
    if (x[t] == 3)
        found = t;
    __syncthreads();
    if (t == 0) *place = found;
}
