// %%cuda votes
// ballot, any, all and popc; and the block-wide votes at a barrier.
extern "C" __global__ void votes(const int* in, unsigned* ballots, int* any, int* all, int* rank)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    bool odd = in[i] & 1;
    unsigned ballot = __ballot_sync(0xffffffffu, odd);
    ballots[i] = ballot;
    any[i] = __any_sync(0xffffffffu, in[i] > 900);
    all[i] = __all_sync(0xffffffffu, in[i] > 20);
    rank[i] = odd ? __popc(ballot & ((1u << lane) - 1)) : -1;
}

extern "C" __global__ void block_votes(const int* in, int* count, int* any, int* all)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, v = in[i];
    int c = __syncthreads_count(v & 1), o = __syncthreads_or(v > 900), a = __syncthreads_and(v > 20);
    if (threadIdx.x == 0) {
        count[blockIdx.x] = c;
        any[blockIdx.x] = o != 0;
        all[blockIdx.x] = a != 0;
    }
}
