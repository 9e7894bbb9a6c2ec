// %%cuda bitonic_sort
// One block sorts 512 numbers in shared memory, two a thread; nested loops of barriers.
extern "C" __global__ void sort(float* data)
{
    __shared__ float s[512];
    const unsigned t = threadIdx.x;
    s[t] = data[t];
    s[t + 256] = data[t + 256];
    for (unsigned size = 2; size <= 512; size <<= 1)
        for (unsigned stride = size / 2; stride > 0; stride >>= 1) {
            __syncthreads();
            const unsigned low = 2 * t - (t & (stride - 1)), high = low + stride;
            const bool ascending = (low & size) == 0;
            const float a = s[low], b = s[high];
            if ((a > b) == ascending) {
                s[low] = b;
                s[high] = a;
            }
        }
    __syncthreads();
    data[t] = s[t];
    data[t + 256] = s[t + 256];
}
