// %%cuda in_turn
__global__ void in_turn(int* order)
{
    __shared__ int turn[64];
    turn[threadIdx.x] = threadIdx.x;
    for (int k = 0; k < 63; ++k) __syncthreads();
    for (int k = 0; k < 64; ++k) if (k == threadIdx.x) order[k] = turn[k];
}
