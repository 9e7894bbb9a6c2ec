// %%cuda in_turn
__global__ void in_turn(int* order)
{
    __shared__ int turn;
    if (!threadIdx.x) turn = 0;
    for (;;) {
        __syncthreads();
        int now = turn;
        __syncthreads();
        if (now == threadIdx.x) { order[now] = threadIdx.x; ++turn; }
        if (now + 1 == blockDim.x) break;
    }
}
