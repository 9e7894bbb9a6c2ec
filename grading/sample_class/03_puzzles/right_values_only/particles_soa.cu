// %%cuda particles.soa
// One particle for each thread, loaded at once.
__global__ void particles(float* fields, const float* particles, int n)
{
    int i = blockIdx.x * BLOCK_X + threadIdx.x;
    if (i >= n)
        return;
    float4 p = make_float4(((volatile const float*) particles)[4 * i], ((volatile const float*) particles)[4 * i + 1], ((volatile const float*) particles)[4 * i + 2], ((volatile const float*) particles)[4 * i + 3]);
    fields[i] = p.x;
    fields[n + i] = p.y;
    fields[2 * n + i] = p.z;
    fields[3 * n + i] = p.w;
}
