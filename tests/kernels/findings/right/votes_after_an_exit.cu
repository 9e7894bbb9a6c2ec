// %%cuda votes_after_an_exit
// Exited lanes need not vote: the CUDA guide requires only threads that have not exited.
extern "C" __global__ void count_odd(const int* x, int* odd, int n)
{
    int i = threadIdx.x;
    if (i >= n) return;
    unsigned votes = __ballot_sync(0xffffffffu, x[i] & 1);
    if (i % 32 == 0) odd[i / 32] = __popc(votes);
}
