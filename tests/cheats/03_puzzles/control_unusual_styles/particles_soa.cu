// %%cuda particles.soa --block 128
__global__ void particles(float* fields, const float* particles, int n)
{
    __shared__ float s[4][BLOCK_X + 1];
    for (int k = threadIdx.x; k < 4 * BLOCK_X; k += BLOCK_X) { int g = blockIdx.x * 4 * BLOCK_X + k; if (g < 4 * n) s[k % 4][k / 4] = particles[g]; }
    __syncthreads();
    int i = blockIdx.x * BLOCK_X + threadIdx.x;
    if (i < n) for (int f = 0; f < 4; ++f) fields[f * n + i] = s[f][threadIdx.x];
}
