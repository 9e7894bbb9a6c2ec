// The naive 7-point stencil: one thread per column of z, seven loads from global memory per point.
extern "C" __global__ void stencil_naive(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < 1 || j < 1 || i >= nx - 1 || j >= ny - 1) return;
    int plane = nx * ny;
    for (int k = 1; k < nz - 1; k++) {
        int p = i + nx * j + plane * k;
        Anext[p] = A0[p + 1] + A0[p - 1] + A0[p + nx] + A0[p - nx] + A0[p + plane] + A0[p - plane]
                 - 6.0f * A0[p] / (fac * fac);
    }
}
