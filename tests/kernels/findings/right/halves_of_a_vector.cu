// %%cuda halves_of_a_vector
// Warp 0 stores the real parts, warp 1 the imaginary parts.
extern "C" __global__ void join(const float* x, float2* z)
{
    __shared__ float2 cell[32];
    int lane = threadIdx.x % 32;
    float* half = threadIdx.x < 32 ? &cell[lane].x : &cell[lane].y;
    *half = x[threadIdx.x];
    __syncthreads();
    if (threadIdx.x < 32) z[lane] = cell[31 - lane];
}
