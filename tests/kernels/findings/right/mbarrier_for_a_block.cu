// %%cuda mbarrier_for_a_block
// Arrive, then wait for the phase of the token: twice per iteration, like ordinary barriers.
#include <cuda_awbarrier_primitives.h>

__device__ void meet(__mbarrier_t* barrier)
{
    __mbarrier_token_t token = __mbarrier_arrive(barrier);
    while (!__mbarrier_test_wait(barrier, token)) { }
}

extern "C" __global__ void mirrored_sum(const int* x, int* out)
{
    __shared__ __mbarrier_t barrier;
    __shared__ int s[64];
    int t = threadIdx.x, sum = 0;
    if (t == 0) __mbarrier_init(&barrier, 64);
    __syncthreads();
    for (int r = 0; r < 3; ++r) {
        s[t] = x[r * 64 + t];
        meet(&barrier);
        sum += s[63 - t];
        meet(&barrier);
    }
    out[t] = sum;
}
