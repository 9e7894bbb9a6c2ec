// %%cuda shuffles
// Every kind of shuffle: broadcast, up, down, butterfly, in whole warps and in groups of eight, on int, float, double.
extern "C" __global__ void shuffles(const int* in, int* broadcast, int* up, int* down, int* butterfly,
                                    int* reversed_in_groups, float* sum, double* mean)
{
    const unsigned all = 0xffffffffu;
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    int v = in[i];
    broadcast[i] = __shfl_sync(all, v, 5);
    up[i] = __shfl_up_sync(all, v, 3);
    down[i] = __shfl_down_sync(all, v, 7);
    butterfly[i] = __shfl_xor_sync(all, v, 21);
    reversed_in_groups[i] = __shfl_sync(all, v, 7 - lane % 8, 8);
    float total = v;
    for (int mask = 1; mask < 32; mask <<= 1) total += __shfl_xor_sync(all, total, mask);
    sum[i] = total;
    double d = total / 32.0;
    mean[i] = __shfl_sync(all, lane == 31 ? d + 0.5 : d, 31);
}

extern "C" __global__ void shuffle_half(const int* in, int* out)
{
    int t = threadIdx.x;   // only the even lanes take part, in a branch of their own
    if (t % 2 == 0) {
        int v = in[t];
        v += __shfl_xor_sync(0x55555555u, v, 2);
        v += __shfl_xor_sync(0x55555555u, v, 4);
        out[t] = v;
    } else {
        out[t] = -1;
    }
}
