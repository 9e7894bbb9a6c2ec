// %%cuda own_shared_column
// Shared memory as private storage: no other thread accesses the column, so no barrier is needed.
extern "C" __global__ void sort_columns(const short* x, short* out)
{
    __shared__ short s[8][32];
    const int t = threadIdx.x, column = blockIdx.x * 32 + t;
    for (int k = 0; k < 8; ++k) {
        short v = x[k * 64 + column];
        int at = k;
        for (; at > 0 && s[at - 1][t] > v; --at) s[at][t] = s[at - 1][t];
        s[at][t] = v;
    }
    for (int k = 0; k < 8; ++k) out[k * 64 + column] = s[k][t];
}
