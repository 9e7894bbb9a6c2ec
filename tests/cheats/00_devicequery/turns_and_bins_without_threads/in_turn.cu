// %%cuda in_turn
__global__ void in_turn(int* order)
{
    __shared__ int turn[64];
    turn[threadIdx.x] = threadIdx.x;
    #pragma unroll 1
    for (int k = 0; k < blockDim.x; ++k)
        if (threadIdx.x == k) order[k] = turn[k];
}
