// %%cuda shuffles_by_thread
// Fault, line 7: the mask still contains lanes that have left the loop.
extern "C" __global__ void mix(const int* rounds, int* out)
{
    int t = threadIdx.x, v = t;
    for (int k = 0; k < rounds[t]; ++k)
        v += __shfl_xor_sync(0xffffffffu, v, 1);
    __syncwarp();
    out[t] = v + __shfl_sync(0xffffffffu, v, 0);
}
