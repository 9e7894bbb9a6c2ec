// %%cuda linked_list
// Pointers in device memory: threads push nodes onto one list without a lock, then one thread walks it.
struct Node {
    int value;
    Node* next;
};
__device__ Node pool[256];
__device__ Node* head = nullptr;
__device__ int used = 0;

__device__ void push(int value)
{
    Node* mine = &pool[atomicAdd(&used, 1)];
    mine->value = value;
    auto* where = reinterpret_cast<unsigned long long*>(&head);
    unsigned long long seen, old = *where;
    do {
        seen = old;
        mine->next = reinterpret_cast<Node*>(seen);
        __threadfence();
        old = atomicCAS(where, seen, reinterpret_cast<unsigned long long>(mine));
    } while (old != seen);
}

extern "C" __global__ void build_and_walk(int* out, int* length, int n)
{
    if (threadIdx.x < n && threadIdx.x % 3 != 1) push(threadIdx.x * 10);
    __syncthreads();
    if (threadIdx.x > 0) return;
    int count = 0;
    for (const Node* at = *const_cast<Node* volatile*>(&head); at; at = at->next) out[count++] = at->value;
    *length = count;
    head = nullptr;
    used = 0;
}
