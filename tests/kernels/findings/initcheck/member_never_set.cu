// %%cuda member_never_set
// Fault, line 13: the position is filled in, the mass is not.
struct Body {
    float x, y, z, mass;
};

extern "C" __global__ void pull(const float* position, float* out)
{
    __shared__ Body body[32];
    int t = threadIdx.x;
    body[t].x = position[3 * t];
    body[t].y = position[3 * t + 1];
    body[t].z = position[3 * t + 2];
    __syncthreads();
    float sum = 0.0f;
#pragma unroll 1
    for (int k = 0; k < 32; ++k) {
        const float dx = body[k].x - body[t].x;
        sum += dx *
               body[k].mass;
    }
    out[t] = sum + body[t].y + body[t].z;
}
