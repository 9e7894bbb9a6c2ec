// %%cuda ballot_in_a_branch
// Fault, line 7: lanes with an even value do not vote.
extern "C" __global__ void places(const int* x, int* out)
{
    int t = threadIdx.x, v = x[t];
    if (v & 1) {
        unsigned large = __ballot_sync(0xffffffffu, v > 50);
        out[t] = __popc(large & ((1u << t % 32) - 1));
    }
    __syncwarp();
    out[t] += v;
}
