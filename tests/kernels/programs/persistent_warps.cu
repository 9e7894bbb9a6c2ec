// %%cuda persistent_warps
// Warps that fetch their next piece of work from a counter, since pieces take different times.
extern "C" __global__ void collect(int* next, const int* start, const int* x, int* sum, int pieces)
{
    const int lane = threadIdx.x % 32;
    while (true) {
        int piece = 0;
        if (lane == 0) piece = atomicAdd(next, 1);
        piece = __shfl_sync(0xffffffffu, piece, 0);
        if (piece >= pieces) return;
        int mine = 0;
        for (int k = start[piece] + lane; k < start[piece + 1]; k += 32) mine += x[k];
        for (int d = 16; d > 0; d /= 2) mine += __shfl_down_sync(0xffffffffu, mine, d);
        if (lane == 0) sum[piece] = mine;
    }
}
