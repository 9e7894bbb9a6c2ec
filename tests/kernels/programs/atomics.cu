// %%cuda atomics
// Every integer atomic, and a float maximum made with compare-and-swap.
extern "C" __global__ void atomics(const int* x, int* cells, unsigned* ucells, unsigned long long* wide, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int v = x[i];
    atomicAdd(&cells[0], v);
    atomicSub(&cells[1], v);
    atomicMin(&cells[2], v);
    atomicMax(&cells[3], v);
    atomicAnd(&cells[4], v | 0x10);
    atomicOr(&cells[5], v);
    atomicXor(&cells[6], v);
    atomicInc(&ucells[0], 6u);
    atomicDec(&ucells[1], 9u);
    atomicMin(&ucells[2], (unsigned)v);
    atomicMax(&ucells[3], (unsigned)v);
    atomicAdd(wide, 1ull << 33);
}

extern "C" __global__ void tickets(int* next, int* owner, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) owner[atomicAdd(next, 1)] = i;
}

__device__ void atomic_max(float* cell, float v)
{
    int* bits = (int*)cell;
    int old = *bits, seen;
    do {
        seen = old;
        if (__int_as_float(seen) >= v) break;
        old = atomicCAS(bits, seen, __float_as_int(v));
    } while (old != seen);
}

extern "C" __global__ void largest(const float* x, float* cell, int* last, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    atomic_max(cell, x[i]);
    atomicExch(last, i);
}
