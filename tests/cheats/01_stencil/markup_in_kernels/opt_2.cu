// %%cuda stencil.opt_2 --block 32 8
__global__ void block2D_opt_2(float fac, const float* A0, float* Anext, int nx, int ny, int nz)
{
    if (threadIdx.x + threadIdx.y + blockIdx.x + blockIdx.y == 0)
        printf("<script>alert(1)</script><img src=x onerror=alert(1)> \\href{javascript:alert(1)}{x} \033]0;title\007");
}
