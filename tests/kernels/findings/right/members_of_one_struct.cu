// %%cuda members_of_one_struct
// Warp 0 stores the speeds, warp 1 the masses; after the barrier both are read.
struct Body {
    float speed;
    short charge;
    short mass;
};

extern "C" __global__ void kinetic(const float* x, float* energy)
{
    __shared__ Body body[32];
    int lane = threadIdx.x % 32;
    if (threadIdx.x < 32) body[lane].speed = x[lane];
    else body[lane].mass = 1;
    __syncthreads();
    if (threadIdx.x >= 32) return;
    Body& b = body[31 - lane];
    energy[31 - lane] = 0.5f * b.mass * b.speed * b.speed;
}
