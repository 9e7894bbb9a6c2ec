// %%cuda union_find
// Connected components without a lock: a root is hung under a smaller one by compare-and-swap, paths are halved.
__device__ int root_of(volatile int* parent, int node)
{
    int above = parent[node];
    while (above != node) {
        const int next = parent[above];
        parent[node] = next;
        node = next;
        above = parent[node];
    }
    return node;
}

extern "C" __global__ void unite(int* parent, const int2* edge, int edges)
{
    const int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= edges) return;
    int a = root_of(parent, edge[e].x), b = root_of(parent, edge[e].y);
    while (a != b) {
        const int high = max(a, b), low = min(a, b);
        const int old = atomicCAS(&parent[high], high, low);
        if (old == high) break;
        a = root_of(parent, old);
        b = root_of(parent, low);
    }
}

extern "C" __global__ void label(int* parent, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) ((volatile int*)parent)[i] = root_of(parent, i);
}
