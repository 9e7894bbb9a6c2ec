// %%cuda leader_of_the_warp
// One atomic per warp; a __syncwarp precedes the other lanes' read of the result.
extern "C" __global__ void keep_large(const int* x, int* out, int* length)
{
    __shared__ int base[2];
    int t = threadIdx.x, warp = t / 32, lane = t % 32, v = x[blockIdx.x * 64 + t];
    unsigned chosen = __ballot_sync(0xffffffffu, v > 70);
    if (lane == 0) base[warp] = atomicAdd(length, __popc(chosen));
    __syncwarp();
    if (v > 70) out[base[warp] + __popc(chosen & ((1u << lane) - 1))] = v;
}
