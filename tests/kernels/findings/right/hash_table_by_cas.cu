// %%cuda hash_table_by_cas
// Open addressing: the key claims an empty slot, and only its owner writes the value.
extern "C" __global__ void insert(const int* keys, int* slots, float* values)
{
    int key = keys[blockIdx.x * 64 + threadIdx.x] + 1;
    for (unsigned at = key * 2654435761u >> 24; ; at = (at + 1) % 256) {
        if (atomicCAS(&slots[at], 0, key) == 0) {
            values[at] = key * 0.5f;
            break;
        }
    }
}
