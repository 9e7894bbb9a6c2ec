// %%cuda iterations_by_thread
// Fault, line 9: the threads do not execute this barrier equally often.
extern "C" __global__ void rotate(const int* turns, int* out)
{
    __shared__ int s[64];
    int t = threadIdx.x, v = t;
    for (int k = 0; k < turns[t]; ++k) {
        s[t] = v;
        __syncthreads();
        v = s[t] + 1;
    }
    out[t] = v;
}
