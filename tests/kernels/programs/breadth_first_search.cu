// %%cuda breadth_first_search
// One level of a breadth-first search: the new frontier goes through a queue in shared memory.
#define ROOM 64
extern "C" __global__ void expand(const int* start, const int* neighbour, int* distance, const int* frontier,
                                  int frontier_size, int* next, int* next_size, int level)
{
    __shared__ int queue[ROOM], queued, base;
    if (threadIdx.x == 0) queued = 0;
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < frontier_size) {
        const int node = frontier[i];
        for (int e = start[node]; e < start[node + 1]; ++e) {
            const int other = neighbour[e];
            if (atomicCAS(&distance[other], -1, level) != -1) continue;   // somebody was here before
            const int place = atomicAdd(&queued, 1);
            if (place < ROOM) queue[place] = other;
            else next[atomicAdd(next_size, 1)] = other;
        }
    }
    __syncthreads();
    const int count = min(queued, ROOM);
    if (threadIdx.x == 0) base = atomicAdd(next_size, count);
    __syncthreads();
    for (int k = threadIdx.x; k < count; k += blockDim.x) next[base + k] = queue[k];
}
