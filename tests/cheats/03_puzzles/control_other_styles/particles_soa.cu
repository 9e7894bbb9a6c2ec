// %%cuda particles.soa --block 128
struct alignas(16) Particle { float field[4]; };
__global__ void particles(float* fields, const float* particles, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        Particle p = reinterpret_cast<const Particle*>(particles)[i];
        #pragma unroll
        for (int f = 0; f < 4; ++f) fields[(size_t)f * n + i] = p.field[f];
    }
}
