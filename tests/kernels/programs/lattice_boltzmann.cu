// %%cuda lattice_boltzmann
// A step of D2Q9 lattice Boltzmann on a torus: pull from nine neighbours, collide, bounce off solid cells.
__constant__ int cx[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, cy[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
__constant__ int opposite[9] = {0, 3, 4, 1, 2, 7, 8, 5, 6};

__device__ constexpr float weight(int k) { return k == 0 ? 4.0f / 9 : k < 5 ? 1.0f / 9 : 1.0f / 36; }

extern "C" __global__ void step(const float* f, float* next, const bool* solid, int nx, int ny, float omega)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= nx || y >= ny) return;
    const int cells = nx * ny, at = y * nx + x;
    float v[9], density = 0.0f, ux = 0.0f, uy = 0.0f;
#pragma unroll
    for (int k = 0; k < 9; ++k) {
        v[k] = f[k * cells + (y - cy[k] + ny) % ny * nx + (x - cx[k] + nx) % nx];
        density += v[k];
        ux += cx[k] * v[k];
        uy += cy[k] * v[k];
    }
    if (solid[at]) {
        for (int k = 0; k < 9; ++k) next[opposite[k] * cells + at] = v[k];
        return;
    }
    ux /= density;
    uy /= density;
    const float square = 1.5f * (ux * ux + uy * uy);
#pragma unroll
    for (int k = 0; k < 9; ++k) {
        const float u = 3.0f * (cx[k] * ux + cy[k] * uy);
        const float rest = density * weight(k) * (1.0f + u + 0.5f * u * u - square);
        next[k * cells + at] = v[k] + omega * (rest - v[k]);
    }
}
