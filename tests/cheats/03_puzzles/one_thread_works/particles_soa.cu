// %%cuda particles.soa --block 256
__global__ void particles(float* fields, const float* particles, int n)
{
    if (threadIdx.x == 0 && blockIdx.x == 0) for (int i = 0; i < n; ++i) { float4 p = ((const float4*)particles)[i]; fields[i] = p.x; fields[n + i] = p.y; fields[2 * n + i] = p.z; fields[3 * n + i] = p.w; }
}
