// %%cuda atomics_of_all_types
// Sums, maxima and bits, in 32 and 64 bits and in double.
extern "C" __global__ void count(const int* x, int* cells, unsigned long long* wide, double* mean)
{
    int v = x[blockIdx.x * 32 + threadIdx.x];
    atomicAdd(&cells[0], v);
    atomicMax(&cells[1], v);
    atomicOr(&cells[2], v);
    atomicSub(&cells[3], v);
    atomicAdd(wide, (unsigned long long)v << 32);
    atomicAdd(mean, v / 96.0);
}
