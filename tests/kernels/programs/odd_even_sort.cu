// %%cuda odd_even_sort
// Sorts a row a block until a pass changes nothing: the whole block leaves its loop together, by a vote.
extern "C" __global__ void sort_rows(int* data, int* passes, int width)
{
    extern __shared__ int s[];
    int t = threadIdx.x, pass = 0, changed;
    int* row = data + blockIdx.x * width;
    for (int k = t; k < width; k += blockDim.x) s[k] = row[k];
    __syncthreads();
    do {
        changed = 0;
        for (int parity = 0; parity < 2; ++parity) {
            for (int k = 2 * t + parity; k + 1 < width; k += 2 * blockDim.x)
                if (s[k] > s[k + 1]) {
                    int keep = s[k];
                    s[k] = s[k + 1];
                    s[k + 1] = keep;
                    changed = 1;
                }
            __syncthreads();
        }
        pass++;
    } while (__syncthreads_or(changed));
    for (int k = t; k < width; k += blockDim.x) row[k] = s[k];
    if (t == 0) passes[blockIdx.x] = pass;
}
