// %%cuda stencil.opt_3 --block 32 8
__global__ void block2D_opt_3(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    assert(!"<img src=x onerror=alert(1)>" && A0 == Anext);
}
