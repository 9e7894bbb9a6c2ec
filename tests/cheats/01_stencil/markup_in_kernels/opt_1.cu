// %%cuda stencil.opt_1 --block 32 8
// <script>alert(1)</script>
__global__ void block2D_opt_1(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    int <img src=x onerror=alert(1)> $\href{javascript:alert(1)}{here}$;
}
