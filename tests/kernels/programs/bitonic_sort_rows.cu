// %%cuda bitonic_sort_rows
// A block sorts a row of any length below 256, largest first, and remembers where each value stood.
extern "C" __global__ void sort_rows(float* values, unsigned short* places, int width)
{
    __shared__ float key[256];
    __shared__ unsigned short place[256];
    const unsigned t = threadIdx.x;
    const size_t row = (size_t)blockIdx.x * width;
    key[t] = t < width ? values[row + t] : -1.0f / 0.0f;   // the filling sorts to the end
    place[t] = t;
    for (unsigned size = 2; size <= 256; size *= 2)
        for (unsigned stride = size / 2; stride; stride /= 2) {
            __syncthreads();
            const unsigned other = t ^ stride;
            if (other <= t) continue;   // of a pair, the lower thread exchanges
            const bool falling = (t & size) == 0;
            const float a = key[t], b = key[other];
            if (falling ? a < b : a > b) {
                key[t] = b;
                key[other] = a;
                const unsigned short p = place[t];
                place[t] = place[other];
                place[other] = p;
            }
        }
    __syncthreads();
    if (t >= width) return;
    values[row + t] = key[t];
    places[row + t] = place[t];
}
