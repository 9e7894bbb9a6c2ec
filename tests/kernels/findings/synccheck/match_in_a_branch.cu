// %%cuda match_in_a_branch
// Fault, line 7: a warp has two rows, and the odd row does not take this branch.
extern "C" __global__ void count_equal(const int* x, int* out)
{
    int i = threadIdx.y * 16 + threadIdx.x, v = x[i];
    if (threadIdx.y % 2 == 0) {
        unsigned equal = __match_any_sync(0xffffffffu, v);
        out[i] = __popc(equal);
    }
    __syncwarp();
    out[i] += v;
}
