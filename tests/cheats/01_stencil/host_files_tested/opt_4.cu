// %%cuda stencil.opt_4 --block 32 8
import </etc/passwd>;
__global__ void block2D_opt_4(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
}
