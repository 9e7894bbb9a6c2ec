// %%cuda in_turn
// Each thread in_turn until `turn` is its own number. Before Volta this never ends.
__global__ void in_turn(int* order)
{
    __shared__ volatile int turn;
    if (threadIdx.x == 0) turn = 0;
    __syncthreads();
    while (turn != threadIdx.x) { }
    order[turn] = threadIdx.x;
    turn = turn + 1;
}
