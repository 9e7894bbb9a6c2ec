// %%cuda in_turn
__global__ void in_turn(int* order)
{
    __shared__ int turn[1];
    turn[0] = 0;
    for (unsigned k = 0u; k != blockDim.x; k++) {
        __syncthreads();
        if (k == threadIdx.x) { order[turn[0]] = (int)threadIdx.x; turn[0] += 1; }
    }
}
