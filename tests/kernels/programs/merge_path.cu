// %%cuda merge_path
// Merges two sorted arrays: a binary search gives each thread where its seven results begin in both.
#define ITEMS 7
__device__ int split(const int* a, int na, const int* b, int nb, int diagonal)
{
    int low = max(0, diagonal - nb), high = min(diagonal, na);
    while (low < high) {
        const int middle = (low + high) / 2;
        if (a[middle] <= b[diagonal - 1 - middle]) low = middle + 1;
        else high = middle;
    }
    return low;
}

extern "C" __global__ void merge(const int* a, int na, const int* b, int nb, int* out)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    const int first = min(t * ITEMS, na + nb), last = min(first + ITEMS, na + nb);
    int i = split(a, na, b, nb, first), j = first - i;
    for (int d = first; d < last; ++d) {
        const bool from_a = j >= nb || (i < na && a[i] <= b[j]);
        out[d] = from_a ? a[i++] : b[j++];
    }
}
