// %%cuda stencil.opt_1 --block 32 8
#include "/etc/passwd"
__global__ void block2D_opt_1(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
}
