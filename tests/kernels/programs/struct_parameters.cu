// %%cuda struct_parameters
// A struct of mixed types by value, and arrays of structs in memory.
struct Lens {
    float gain;
    short shift;
    unsigned char mask;
    double offset;
    int table[4];
};

struct Particle {
    float3 position;
    int kind;
    double mass;
};

extern "C" __global__ void look(Lens lens, const int* x, double* out, int n)
{
    int i = threadIdx.x;
    if (i < n) out[i] = lens.gain * (float)((x[i] >> lens.shift) & lens.mask) + lens.offset + lens.table[i & 3];
}

extern "C" __global__ void drift(Particle* p, float3 step, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Particle q = p[i];
    q.position.x += step.x * q.kind;
    q.position.y += step.y * q.kind;
    q.position.z += step.z * q.kind;
    q.mass *= 0.5;
    p[i] = q;
}
