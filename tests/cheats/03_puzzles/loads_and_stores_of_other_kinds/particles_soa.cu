// %%cuda particles.soa
__global__ void particles(float* fields, const float* particles, int n)
{
    int i = blockIdx.x * BLOCK_X + threadIdx.x;
    if (i >= n) return;
    for (int k = 0; k < 4; ++k) fields[k * n + i] = ((volatile const float*)particles)[4 * i + k];
}
