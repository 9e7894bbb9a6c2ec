// %%cuda scan_hillis_steele
// Inclusive scan of one block, doubling the distance each step, between two halves of a shared array.
#define THREADS 256
extern "C" __global__ void scan(const int* in, int* out, int n)
{
    __shared__ int buffer[2 * THREADS];
    int t = threadIdx.x, from = 0, to = 1;
    buffer[t] = t < n ? in[t] : 0;
    __syncthreads();
    for (int distance = 1; distance < THREADS; distance <<= 1) {
        int v = buffer[from * THREADS + t];
        if (t >= distance) v += buffer[from * THREADS + t - distance];
        buffer[to * THREADS + t] = v;
        from = 1 - from;
        to = 1 - to;
        __syncthreads();
    }
    if (t < n) out[t] = buffer[from * THREADS + t];
}
