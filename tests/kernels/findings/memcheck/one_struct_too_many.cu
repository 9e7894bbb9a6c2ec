// %%cuda one_struct_too_many
// Fault, line 9: the loop should end before n.
struct Body {
    float x, y, vx, vy;
};

extern "C" __global__ void drift(Body* body, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i <= n; i += gridDim.x * blockDim.x) {
        body[i].x += body[i].vx;
        body[i].y += body[i].vy;
    }
}
