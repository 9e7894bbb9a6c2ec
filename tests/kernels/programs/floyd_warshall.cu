// %%cuda floyd_warshall
// All shortest paths of a small graph in shared memory, and relaxation of single edges with atomicMin.
extern "C" __global__ void all_pairs(int* distance, int n)
{
    extern __shared__ int d[];
    for (int k = threadIdx.x; k < n * n; k += blockDim.x) d[k] = distance[k];
    for (int by = 0; by < n; ++by) {
        __syncthreads();
        for (int k = threadIdx.x; k < n * n; k += blockDim.x) {
            const int through = d[k / n * n + by] + d[by * n + k % n];
            if (through < d[k]) d[k] = through;
        }
    }
    __syncthreads();
    for (int k = threadIdx.x; k < n * n; k += blockDim.x) distance[k] = d[k];
}

extern "C" __global__ void relax(const int3* edge, int edges, int* distance, int* changed)
{
    const int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= edges) return;
    const int through = distance[edge[e].x] + edge[e].z;
    if (through < distance[edge[e].y] && atomicMin(&distance[edge[e].y], through) > through) *changed = 1;
}
