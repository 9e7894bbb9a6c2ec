// %%cuda in_turn
// Changes from waits: all threads run a loop over the turns, with a barrier after each turn.
__global__ void in_turn(int* order)
{
    __shared__ int turn;
    if (threadIdx.x == 0) turn = 0;
    __syncthreads();
    for (int k = 0; k < blockDim.x; ++k) {
        if (threadIdx.x == k) {
            order[turn] = threadIdx.x;
            turn = turn + 1;
        }
        __syncthreads();
    }
}
