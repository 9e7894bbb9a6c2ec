// %%cuda stencil.naive --block 32 8
// Fault, line 16: counts its eight terms from 1, so that the last one lies past the array. values: may be right
extern "C" __global__ void block2D_naive(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    float term[8];
    if (i < 1 || i >= nx - 1 || j < 1 || j >= ny - 1) return;
    const int first = nz > 2;   // 1, and must be 0
    for (int k = 1; k < nz - 1; ++k) {
        int c = i + nx * (j + ny * k);
        float sum = 0.0f;
#pragma unroll 1
        for (int s = 0; s < 8; ++s) {
            int stride = s < 2 ? 1 : s < 4 ? nx : nx * ny;
            float neighbour = s < 6 ? A0[s % 2 ? c + stride : c - stride] : 0.0f;
            term[first + s] = s == 7 ? -6.0f * A0[c] / (fac * fac) : neighbour;
        }
#pragma unroll 1
        for (int s = 0; s < 8; ++s) sum += term[first + s];
        Anext[c] = sum;
    }
}
