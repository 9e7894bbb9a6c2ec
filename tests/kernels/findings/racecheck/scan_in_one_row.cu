// %%cuda scan_in_one_row
// Fault, line 12: a neighbour may read this cell before or after it is written.
extern "C" __global__ void scan(const int* x, int* out)
{
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    for (int d = 1; d < 128; d *= 2) {
        if (t >= d) {
            int left = s[t - d];
            s[t] += left;
        }
        __syncthreads();
    }
    out[t] = s[t];
}
