// %%cuda finite_differences_3d
// The 4th-order Laplacian in three dimensions: a plane with its halo in shared memory, the column along z in registers.
#define BX 16
#define BY 8
#define HALO 2
__constant__ float c[HALO + 1] = {-5.0f / 2, 4.0f / 3, -1.0f / 12};

extern "C" __global__ void laplacian(const float* __restrict__ u, float* __restrict__ out, int nx, int ny, int nz)
{
    __shared__ float plane[BY + 2 * HALO][BX + 2 * HALO];
    const int x = blockIdx.x * BX + threadIdx.x, y = blockIdx.y * BY + threadIdx.y;
    const int tx = threadIdx.x + HALO, ty = threadIdx.y + HALO;
    const bool inside = x < nx && y < ny;
    const bool writes = x >= HALO && x < nx - HALO && y >= HALO && y < ny - HALO;
    const size_t frame = (size_t)nx * ny, at = inside ? (size_t)y * nx + x : 0;

    float behind[HALO], here = u[at + frame], ahead[HALO];   // behind[0] is the nearest
    behind[0] = u[at];
    for (int d = 0; d < HALO; ++d) ahead[d] = u[at + (2 + d) * frame];
    for (int z = HALO; z < nz - HALO; ++z) {
        for (int d = HALO - 1; d > 0; --d) behind[d] = behind[d - 1];
        behind[0] = here;
        here = ahead[0];
        for (int d = 0; d < HALO - 1; ++d) ahead[d] = ahead[d + 1];
        ahead[HALO - 1] = u[at + (z + HALO) * frame];

        __syncthreads();
        plane[ty][tx] = here;
        if (inside && threadIdx.x < HALO && x >= HALO) plane[ty][tx - HALO] = u[at + z * frame - HALO];
        if (threadIdx.x >= BX - HALO && y < ny && x + HALO < nx) plane[ty][tx + HALO] = u[at + z * frame + HALO];
        if (inside && threadIdx.y < HALO && y >= HALO) plane[ty - HALO][tx] = u[at + z * frame - HALO * nx];
        if (threadIdx.y >= BY - HALO && x < nx && y + HALO < ny) plane[ty + HALO][tx] = u[at + z * frame + HALO * nx];
        __syncthreads();
        if (!writes) continue;
        float sum = 3 * c[0] * here;
#pragma unroll
        for (int d = 1; d <= HALO; ++d)
            sum += c[d] * (plane[ty][tx - d] + plane[ty][tx + d] + plane[ty - d][tx] + plane[ty + d][tx]
                           + behind[d - 1] + ahead[d - 1]);
        out[at + z * frame] = sum;
    }
}
