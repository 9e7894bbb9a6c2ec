// %%cuda stencil.opt_4 --block 32 8
#error <img src=x onerror=alert(1)> $\\href{javascript:alert(1)}{x}$
__global__ void block2D_opt_4(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{}
