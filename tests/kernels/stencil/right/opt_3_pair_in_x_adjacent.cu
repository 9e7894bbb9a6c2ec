// %%cuda stencil.opt_3 --block 16 8 --tile 2 1 0
// opt_3: two adjacent points in x a thread, with the whole tile and halo loaded cooperatively.
#define PX (2 * BLOCK_X)

extern "C" __global__ void block2D_opt_3(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    __shared__ float s[BLOCK_Y + 2][PX + 2];
    int x = 2 * threadIdx.x, y = threadIdx.y;
    int i = blockIdx.x * PX + x, j = blockIdx.y * BLOCK_Y + y;
    int plane = nx * ny, c = j * nx + i;
    bool first = i < nx && j < ny, second = i + 1 < nx && j < ny;
    float2 bottom = make_float2(0.0f, 0.0f), top = bottom;
    if (first) bottom.x = A0[c];
    if (second) bottom.y = A0[c + 1];

    for (int k = 1; k < nz - 1; k++) {
        c += plane;
        for (int n = threadIdx.y * BLOCK_X + threadIdx.x; n < (PX + 2) * (BLOCK_Y + 2); n += BLOCK_X * BLOCK_Y) {
            int gx = (int)blockIdx.x * PX + n % (PX + 2) - 1, gy = (int)blockIdx.y * BLOCK_Y + n / (PX + 2) - 1;
            bool ok = gx >= 0 && gy >= 0 && gx < nx && gy < ny;
            s[n / (PX + 2)][n % (PX + 2)] = ok ? A0[k * plane + gy * nx + gx] : 0.0f;
        }
        if (first) top.x = A0[c + plane];
        if (second) top.y = A0[c + plane + 1];
        __syncthreads();
        float left = s[y + 1][x + 1], right = s[y + 1][x + 2];
        if (j > 0 && j < ny - 1) {
            if (i > 0 && i < nx - 1)
                Anext[c] = s[y + 1][x] + right + s[y][x + 1] + s[y + 2][x + 1] + bottom.x + top.x
                         - 6.0f * left / (fac * fac);
            if (i + 1 < nx - 1)
                Anext[c + 1] = left + s[y + 1][x + 3] + s[y][x + 2] + s[y + 2][x + 2] + bottom.y + top.y
                             - 6.0f * right / (fac * fac);
        }
        __syncthreads();
        bottom.x = left;
        bottom.y = right;
    }
}
