// %%cuda stencil.opt_2 --block 32 8
__global__ void block2D_opt_2(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    if (threadIdx.x == 0) { printf("%2000000000d %-*d|%.2000000000f\n", 1, 2000000000, 7, 1.0); printf("%99999999999999999999d", 4); }
}
