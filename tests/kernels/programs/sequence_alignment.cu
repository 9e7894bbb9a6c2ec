// %%cuda sequence_alignment
// Needleman-Wunsch scores along anti-diagonals in dynamic shared memory: a block for each pair of sequences.
extern "C" __global__ void align(const char* a, const char* b, int na, int nb, int* score)
{
    extern __shared__ int cell[];   // (na + 1) rows of nb + 1
    const int width = nb + 1;
    const char* other = b + blockIdx.x * nb;
    for (int i = threadIdx.x; i <= na; i += blockDim.x) cell[i * width] = -2 * i;
    for (int j = threadIdx.x; j <= nb; j += blockDim.x) cell[j] = -2 * j;
    for (int diagonal = 2; diagonal <= na + nb; ++diagonal) {
        __syncthreads();
        const int last = min(na, diagonal - 1);
        for (int i = max(1, diagonal - nb) + threadIdx.x; i <= last; i += blockDim.x) {
            const int j = diagonal - i, at = i * width + j;
            const int match = cell[at - width - 1] + (a[i - 1] == other[j - 1] ? 1 : -1);
            cell[at] = max(match, max(cell[at - width], cell[at - 1]) - 2);
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) score[blockIdx.x] = cell[na * width + nb];
}
