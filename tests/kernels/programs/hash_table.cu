// %%cuda hash_table
// Open addressing with 64-bit compare-and-swap: key and value go in together, linear probing finds room.
#define EMPTY 0xffffffffffffffffull
typedef unsigned long long Entry;

__device__ unsigned home(unsigned key, unsigned room) { return key * 2654435761u % room; }

extern "C" __global__ void insert(Entry* table, unsigned room, const unsigned* key, const unsigned* value, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const Entry entry = (Entry)key[i] << 32 | value[i];
    for (unsigned at = home(key[i], room);; at = at + 1 == room ? 0 : at + 1) {
        const Entry old = atomicCAS(&table[at], EMPTY, entry);
        if (old == EMPTY) return;
        if (old >> 32 == key[i]) {   // the key is there: the larger value stays
            atomicMax(&table[at], entry);
            return;
        }
    }
}

extern "C" __global__ void look_up(const Entry* table, unsigned room, const unsigned* key, int* value, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned at = home(key[i], room);
    while (table[at] != EMPTY && table[at] >> 32 != key[i]) at = at + 1 == room ? 0 : at + 1;
    value[i] = table[at] == EMPTY ? -1 : (int)(unsigned)table[at];
}
